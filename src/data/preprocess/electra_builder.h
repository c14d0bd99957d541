// Builds examples for ELECTRA: pairs of segments.
#pragma once

#include <cstdint>
#include <string>

#include "data/preprocess/example_builder.h"
#include "data/preprocess/segments.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {

struct ElectraOptions {
  std::int64_t seq_length = 128;     // at least 5: [CLS] a [SEP] b [SEP]
  bool blanks_separate_docs = true;  // in text files: whether a blank line ends a document
};

// Builds ELECTRA examples. In the shuffled order, the target length of a document's first example
// is drawn when the document begins; the original program draws it after the previous example.
// ExampleCounts: [0] tokens of the examples, [1] examples with one segment, [2 + id] how often
// token `id` occurs in the segments.
class ElectraBuilder final : public ExampleBuilder {
 public:
  // The tokenizer must outlive the builder. Throws UsageError if the vocabulary lacks special
  // tokens or a length is out of range.
  ElectraBuilder(const text::BertTokenizer& tokenizer, const ElectraOptions& options);

  std::string kind() const override { return "electra"; }
  OrderedJson settings() const override;
  std::uint64_t passes() const override { return 1; }
  std::uint64_t longest_sentence() const override {
    return static_cast<std::uint64_t>(options_.seq_length) - 3;
  }
  std::unique_ptr<ExampleDrawer> drawer(const DocumentGroup& group,
                                        ExampleCounts& counts) const override;
  std::unique_ptr<ExampleEncoder> encoder() const override;
  OrderedJson facts(const ExampleCounts& counts) const override;

  // Adds the example to `counts`, and to `out` in the format of temporary files.
  void pack(const Segments& segments, ExampleCounts& counts, std::string& out) const;
  std::int64_t seq_length() const { return options_.seq_length; }

 private:
  const text::BertTokenizer& tokenizer_;
  ElectraOptions options_;
};

}  // namespace smelt::data
