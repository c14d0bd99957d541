#include "data/input_pipeline/record_blocks.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace smelt::data {
namespace {

constexpr std::uint64_t kBlockBytes = 1 << 20, kMostRecords = 1024;
constexpr std::size_t kCacheLine = 64;

// Prefetches bytes into the CPU cache, because shuffled records are usually not cached.
void prefetch(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kCacheLine)
    __builtin_prefetch(bytes.data() + at);
}

}  // namespace

std::uint64_t block_of_examples(std::uint64_t bytes) {
  return std::bit_floor(
      std::clamp<std::uint64_t>(kBlockBytes / std::max<std::uint64_t>(1, bytes), 1, kMostRecords));
}

std::uint64_t block_of_records(const RecordIndex& index) {
  return block_of_examples(index.bytes() / index.size());
}

RecordBlocks::RecordBlocks(const RecordIndex& index, std::uint64_t block, std::size_t capacity)
    : index_(index), block_(block), blocks_(capacity, [&index, block](std::uint64_t number) {
        const std::uint64_t first = number * block;
        return index.read_bytes(first, std::min(block, index.size() - first));
      }) {}

void RecordBlocks::read(std::span<const std::uint64_t> records, const Use& use) {
  std::vector<BlockCache<RecordBytes>::Pointer> blocks;
  std::vector<std::string_view> raw;
  for (const std::uint64_t record : records) {
    blocks.push_back(blocks_(record / block_));
    raw.push_back(index_.raw(*blocks.back(), record));
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i + 1 < records.size()) prefetch(raw[i + 1]);
    use(index_.checked(raw[i], records[i]), i);
  }
}

}  // namespace smelt::data
