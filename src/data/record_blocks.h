// Runs of neighbouring records, each read at once and kept while others of it are likely to be
// wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/record_index.h"

namespace smelt {

class RecordBlocks {
 public:
  // Block i holds the records from i * `block` on. Those used last are kept, `capacity` of them.
  // The index must outlive this.
  RecordBlocks(const RecordIndex& index, std::uint64_t block, std::size_t capacity);

  // Calls use(data, i) with the data of records[i], its checksum right, for each i in turn.
  // Thread-safe: different blocks are read side by side, and nobody reads what another thread is
  // reading. UsageError as of RecordIndex::read.
  using Use = std::function<void(std::string_view data, std::size_t i)>;
  void read(std::span<const std::uint64_t> records, const Use& use);

 private:
  using Bytes = std::shared_ptr<const RecordBytes>;
  struct Entry {
    std::shared_future<Bytes> bytes;
    std::list<std::uint64_t>::iterator place;  // in used_
  };
  Bytes holding(std::uint64_t block);
  Bytes load(std::uint64_t block, std::promise<Bytes>& promise);

  const RecordIndex& index_;
  std::uint64_t block_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::list<std::uint64_t> used_;  // the latest first
};

// How many neighbours to read at once: up to a megabyte of them, at most 1024; a power of two, of
// which Permutation is fastest.
std::uint64_t block_of_records(const RecordIndex& index);

}  // namespace smelt
