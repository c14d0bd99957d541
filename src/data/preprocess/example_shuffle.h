// Second half of the shuffled order (data/preprocess/shuffled_order.h): draws examples from one
// sample of the corpus after another, writes them to disk by random key, and outputs them sorted by
// key, which is a uniform shuffle of all examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/document_groups.h"
#include "data/preprocess/example_builder.h"
#include "data/preprocess/example_files.h"
#include "data/preprocess/external_shuffle.h"
#include "data/preprocess/shuffle_sizes.h"

namespace smelt::data {

// Drawn examples on disk, by key range. Each range belongs to one shard: shard i of n has the keys
// from i/n to (i+1)/n.
struct ShuffledExamples {
  ExternalShuffle spill;
  std::uint64_t examples = 0;
  ExampleCounts counts;  // counts of the builder
};

// Name of the file with the list of spilled ranges and the progress of drawing. It is written after
// each group of documents, or after several small ones.
inline constexpr const char* kDrawingList = "drawing.ranges";

// Draws the examples into spill files named examples-*. Ranges are at most as large as the sizes
// allow. Resumes from what an interrupted run has drawn in the folder.
ShuffledExamples scatter_examples(const ScatteredDocuments& documents,
                                  const ExampleBuilder& builder, std::size_t shards,
                                  const ShuffleOptions& options);

// Writes the shards that do not exist yet, in order, or several in parallel to an object store. If
// writing fails or is interrupted, completed shards remain. The examples of a shard are sorted by
// key.
void write_shards(const ShuffledExamples& examples, const ExampleBuilder& builder,
                  const ExampleFiles& files, const std::vector<bool>& made,
                  const ShuffleOptions& options);

// Returns the file that stores a shard's size and checksum until all shards are complete.
std::string seal_path(const std::string& folder, std::size_t shard);

// Returns the number of threads that can sort and encode ranges within the memory.
int most_writers(const ExternalShuffle& spill, bool remote, const ShuffleOptions& options);

}  // namespace smelt::data
