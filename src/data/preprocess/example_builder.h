// The interface for building training examples of one kind from documents, such as BERT's pairs
// (bert_builder.h). The rest of the shuffled order (shuffled_order.h) treats examples as opaque
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/stream_random.h"
#include "data/preprocess/document_groups.h"
#include "data/preprocess/token_corpus.h"

namespace smelt::data {

// Counts kept by a builder while drawing; summed over threads.
using ExampleCounts = std::vector<std::uint64_t>;

// Receives an example in the builder's format for temporary files.
using ExampleSink = std::function<void(std::string_view)>;

// Draws examples from one group of documents. Used by one thread.
class ExampleDrawer {
 public:
  virtual ~ExampleDrawer() = default;
  // Makes one pass over a document of the group. The examples and their order depend only on the
  // group, the document, the pass and the random numbers.
  virtual void draw(std::size_t document, std::uint64_t pass, StreamRandom& random,
                    const ExampleSink& take) = 0;
};

// Encodes examples as records. Used by one thread.
class ExampleEncoder {
 public:
  virtual ~ExampleEncoder() = default;
  // Appends the example as a TFRecord record (io/formats/tfrecord.h). Returns the number of its
  // tokens that are not padding.
  virtual std::uint64_t encode(std::string_view example, std::string& out) = 0;
};

// Builds the examples of one kind. Immutable and thread-safe; must outlive its drawers and
// encoders.
class ExampleBuilder {
 public:
  virtual ~ExampleBuilder() = default;
  // Returns the name of the kind, such as "bert".
  virtual std::string kind() const = 0;
  // Returns everything the examples depend on apart from the documents, the vocabulary file and the
  // seed. Stored in the description; an interrupted run resumes only with the same settings.
  virtual OrderedJson settings() const = 0;
  // Returns the number of passes over each document. Each pass calls draw() once.
  virtual std::uint64_t passes() const = 0;
  // Returns the maximum number of a sentence's tokens that an example can use; 0: no limit.
  // Sentences more than twice as long are split, because otherwise most of their tokens would be in
  // no example.
  virtual std::uint64_t longest_sentence() const { return 0; }
  // Throws UsageError if no examples can be made from the documents.
  virtual void check(const CorpusCounts&) const {}
  // Returns a drawer that adds to `counts`. `group` and `counts` must outlive the drawer.
  virtual std::unique_ptr<ExampleDrawer> drawer(const DocumentGroup& group,
                                                ExampleCounts& counts) const = 0;
  virtual std::unique_ptr<ExampleEncoder> encoder() const = 0;
  // Returns fields about the drawn examples for the description.
  virtual OrderedJson facts(const ExampleCounts&) const { return OrderedJson::object(); }
};

}  // namespace smelt::data
