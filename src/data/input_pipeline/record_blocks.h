// Reads and caches blocks of adjacent records.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "data/input_pipeline/block_cache.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_order.h"

namespace smelt::data {

// Number of blocks that a source caches. More than kMixedBlocks, because prefetched batches may
// belong to the next group.
constexpr std::size_t kKeptBlocks = 2 * kMixedBlocks + 8;

class RecordBlocks {
 public:
  // Block i holds the records from i * `block` on. The `capacity` most recently used blocks are
  // cached. The index must outlive this object.
  RecordBlocks(const RecordIndex& index, std::uint64_t block, std::size_t capacity);

  // Calls use(data, i) with the data of records[i] for each i in order, after verifying its
  // checksum. Thread-safe. Throws UsageError as RecordIndex::read does.
  using Use = std::function<void(std::string_view data, std::size_t i)>;
  void read(std::span<const std::uint64_t> records, const Use& use);

 private:
  const RecordIndex& index_;
  std::uint64_t block_;
  BlockCache<RecordBytes> blocks_;
};

// Returns how many adjacent records of `bytes` bytes to read at once: up to a megabyte in total and
// at most 1024; a power of two, for which Permutation is fastest.
std::uint64_t block_of_examples(std::uint64_t bytes);
std::uint64_t block_of_records(const RecordIndex& index);

}  // namespace smelt::data
