// Runs of neighbouring records, each read at once and kept while others of it are likely to be
// wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "data/input_pipeline/kept_blocks.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_order.h"

namespace smelt {

// What a source keeps: batches are read ahead, some of them of the next group.
constexpr std::size_t kKeptBlocks = 2 * kMixedBlocks + 8;

class RecordBlocks {
 public:
  // Block i holds the records from i * `block` on. Those used last are kept, `capacity` of them.
  // The index must outlive this.
  RecordBlocks(const RecordIndex& index, std::uint64_t block, std::size_t capacity);

  // Calls use(data, i) with the data of records[i], its checksum right, for each i in turn.
  // Thread-safe, as KeptBlocks is. UsageError as of RecordIndex::read.
  using Use = std::function<void(std::string_view data, std::size_t i)>;
  void read(std::span<const std::uint64_t> records, const Use& use);

 private:
  const RecordIndex& index_;
  std::uint64_t block_;
  KeptBlocks<RecordBytes> blocks_;
};

// How many neighbours of so many bytes to read at once: up to a megabyte of them, at most 1024; a
// power of two, of which Permutation is fastest.
std::uint64_t block_of_examples(std::uint64_t bytes);
std::uint64_t block_of_records(const RecordIndex& index);

}  // namespace smelt
