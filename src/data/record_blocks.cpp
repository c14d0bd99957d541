#include "data/record_blocks.h"

#include <algorithm>
#include <bit>

namespace smelt {
namespace {

constexpr std::uint64_t kBlockBytes = 1 << 20, kMostRecords = 1024;
constexpr std::size_t kCacheLine = 64;

// Records of a shuffle are never in the processor's cache.
void prefetch(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kCacheLine)
    __builtin_prefetch(bytes.data() + at);
}

}  // namespace

std::uint64_t block_of_records(const RecordIndex& index) {
  const std::uint64_t mean = std::max<std::uint64_t>(1, index.bytes() / index.size());
  return std::bit_floor(std::clamp<std::uint64_t>(kBlockBytes / mean, 1, kMostRecords));
}

RecordBlocks::RecordBlocks(const RecordIndex& index, std::uint64_t block, std::size_t capacity)
    : index_(index), block_(block), capacity_(capacity) {}

void RecordBlocks::read(std::span<const std::uint64_t> records, const Use& use) {
  std::vector<Bytes> blocks;
  std::vector<std::string_view> raw;
  for (const std::uint64_t record : records) {
    blocks.push_back(holding(record / block_));
    raw.push_back(index_.raw(*blocks.back(), record));
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i + 1 < records.size()) prefetch(raw[i + 1]);
    use(index_.checked(raw[i], records[i]), i);
  }
}

RecordBlocks::Bytes RecordBlocks::holding(std::uint64_t block) {
  std::unique_lock lock(mutex_);
  if (const auto found = entries_.find(block); found != entries_.end()) {
    used_.splice(used_.begin(), used_, found->second.place);
    const auto bytes = found->second.bytes;
    lock.unlock();
    return bytes.get();
  }
  std::promise<Bytes> promise;
  used_.push_front(block);
  entries_.emplace(block, Entry{promise.get_future().share(), used_.begin()});
  if (used_.size() > capacity_) {
    entries_.erase(used_.back());
    used_.pop_back();
  }
  lock.unlock();
  return load(block, promise);
}

RecordBlocks::Bytes RecordBlocks::load(std::uint64_t block, std::promise<Bytes>& promise) {
  try {
    const std::uint64_t first = block * block_;
    auto bytes = std::make_shared<const RecordBytes>(
        index_.read_bytes(first, std::min(block_, index_.size() - first)));
    promise.set_value(bytes);
    return bytes;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);  // who comes later tries again
    if (const auto found = entries_.find(block); found != entries_.end()) {
      used_.erase(found->second.place);
      entries_.erase(found);
    }
    throw;
  }
}

}  // namespace smelt
