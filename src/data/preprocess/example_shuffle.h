// The second half of the shuffled order: examples are drawn from one sample of the corpus after
// another, scattered on disk by random keys, and written in the order of the keys: a uniform
// shuffle of all examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/document_groups.h"
#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_files.h"
#include "data/preprocess/external_shuffle.h"
#include "data/preprocess/shuffle_sizes.h"

namespace smelt {

// Drawn examples on disk, by ranges of their keys; each range is of one shard: shard i of n has the
// keys from i/n to (i+1)/n.
struct ShuffledExamples {
  ExternalShuffle spill;
  std::uint64_t examples = 0;
  ExampleCounts counts;  // the builder's
};

// Saved after each group of documents, or several small ones, with what was drawn of them.
inline constexpr const char* kDrawingList = "drawing.ranges";

// The spill's files are examples-*. No range is larger than the sizes say. What a killed run has
// drawn in the folder is gone on with.
ShuffledExamples scatter_examples(const ScatteredDocuments& documents,
                                  const ExampleBuilder& builder, std::size_t shards,
                                  const ShuffleOptions& options);

// Writes the shards but for those that are made, in order, to an object store several side by side.
// With a failure or a kill the whole ones stay. Each shard's examples are in the order of their
// keys.
void write_shards(const ShuffledExamples& examples, const ExampleBuilder& builder,
                  const ExampleFiles& files, const std::vector<bool>& made,
                  const ShuffleOptions& options);

// Where a shard's size and checksum are kept until all are whole.
std::string seal_path(const std::string& folder, std::size_t shard);

// How many threads the memory has room for while they sort and encode ranges.
int most_writers(const ExternalShuffle& spill, bool remote, const ShuffleOptions& options);

}  // namespace smelt
