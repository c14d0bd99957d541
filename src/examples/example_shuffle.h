// The second half of the shuffled order: pairs are drawn from one sample of the corpus after
// another, scattered on disk by random keys, and written in the order of the keys: a uniform
// shuffle of all examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/document_buckets.h"
#include "examples/sentence_pairs.h"
#include "examples/spill.h"

namespace smelt {

// At most about this many tokens are in memory while their pairs are drawn; the other sentence of a
// pair comes from there.
constexpr std::uint64_t kGroupTokens = std::uint64_t{16} << 20;

struct ShuffleOptions {
  std::string folder;  // local, for the spill files
  std::uint64_t seed = 0;
  int threads = 1;
  std::size_t memory = 0;  // bytes, for buffers beside one group of documents
  std::size_t shards = 1;
};

// Drawn and masked examples on disk, by ranges of their keys. Every shard has the same number of
// ranges.
struct ShuffledExamples {
  Spill spill;
  std::uint64_t examples = 0, masked_tokens = 0;
  std::size_t ranges = 1;  // of all shards together
};

ShuffledExamples scatter_examples(const DocumentBuckets& documents,
                                  const MaskVocabulary& vocabulary, const PairOptions& pairs,
                                  const ShuffleOptions& options);

// Writes the shards, in order, to an object store several side by side; those that exist already
// are left as they are. With a failure or a kill the whole ones stay. Each shard's examples are in
// the order of their keys.
void write_shards(const ShuffledExamples& examples, const MaskVocabulary& vocabulary,
                  const PairOptions& pairs, const ShuffleOptions& options,
                  const std::vector<std::string>& shards);

}  // namespace smelt
