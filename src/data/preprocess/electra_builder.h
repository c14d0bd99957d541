// ELECTRA's pairs of segments as a builder of examples.
#pragma once

#include <cstdint>
#include <string>

#include "data/preprocess/example_builder.h"
#include "data/preprocess/segments.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt {

struct ElectraOptions {
  std::int64_t seq_length = 128;     // at least 5: [CLS] a [SEP] b [SEP]
  bool blanks_separate_docs = true;  // in text files; else only a file's end ends a document
};

// In the shuffled order each document begins with a draw of its first example's length, as the
// original draws it after the example before. What is counted: at 0 the tokens of the examples, at
// 1 examples of one segment, then each token of the vocabulary in the segments.
class ElectraBuilder final : public ExampleBuilder {
 public:
  // The tokenizer must outlive the builder. UsageError for a vocabulary without the special tokens
  // and for lengths out of range.
  ElectraBuilder(const BertTokenizer& tokenizer, const ElectraOptions& options);

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

  // Counts the example and gives it the form in which it lies in temporary files.
  void pack(const Segments& segments, ExampleCounts& counts, std::string& out) const;
  std::int64_t seq_length() const { return options_.seq_length; }

 private:
  const BertTokenizer& tokenizer_;
  ElectraOptions options_;
};

}  // namespace smelt
