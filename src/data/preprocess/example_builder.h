// What makes training examples of one kind out of documents: BERT's pairs (bert_builder.h) are one.
// Everything else of the shuffled order (shuffled_order.h) takes examples as bytes and does not
// look into them.
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

namespace smelt {

// Numbers that a builder counts while it draws. Those of several threads are added up.
using ExampleCounts = std::vector<std::uint64_t>;

// Takes an example in a form of the builder's own, as it lies in temporary files.
using ExampleSink = std::function<void(std::string_view)>;

// One thread's, for one group of documents.
class ExampleDrawer {
 public:
  virtual ~ExampleDrawer() = default;
  // One pass over a document of the group. What comes out, and in which order, depends on the
  // group, the document, the pass and the random numbers alone.
  virtual void draw(std::size_t document, std::uint64_t pass, StreamRandom& random,
                    const ExampleSink& take) = 0;
};

// One thread's.
class ExampleEncoder {
 public:
  virtual ~ExampleEncoder() = default;
  // Appends the example as a record of a TFRecord file (io/formats/tfrecord.h); returns how many of
  // its tokens are no padding.
  virtual std::uint64_t encode(std::string_view example, std::string& out) = 0;
};

// Immutable: serves several threads, and outlives its drawers and encoders.
class ExampleBuilder {
 public:
  virtual ~ExampleBuilder() = default;
  // "bert"
  virtual std::string kind() const = 0;
  // All that the examples depend on beside the documents, the vocabulary's file and the seed. It
  // stands in the description, and a run that was stopped goes on only with the same.
  virtual OrderedJson settings() const = 0;
  // How often each document is drawn from.
  virtual std::uint64_t passes() const = 0;
  // The most tokens of a sentence that an example holds; 0: any number. Sentences of more than
  // twice as many are split, or most of them would be in no example.
  virtual std::uint64_t longest_sentence() const { return 0; }
  // UsageError for documents that nothing can be made of.
  virtual void check(const CorpusCounts&) const {}
  // The drawer adds to `counts`; both it and the group must outlive the drawer.
  virtual std::unique_ptr<ExampleDrawer> drawer(const DocumentGroup& group,
                                                ExampleCounts& counts) const = 0;
  virtual std::unique_ptr<ExampleEncoder> encoder() const = 0;
  // What the description says of what was drawn.
  virtual OrderedJson facts(const ExampleCounts&) const { return OrderedJson::object(); }
};

}  // namespace smelt
