// A cache of numbered data blocks.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace smelt::data {

// An LRU cache of `capacity` blocks. Thread-safe: threads can read different blocks in parallel.
// Threads that need the same block wait for a single read.
template <class Value>
class BlockCache {
 public:
  using Pointer = std::shared_ptr<const Value>;
  using Read = std::function<Value(std::uint64_t block)>;
  BlockCache(std::size_t capacity, Read read) : capacity_(capacity), read_(std::move(read)) {}

  // Returns the block, reading it if it is not cached. Rethrows an error of `read`; the next call
  // then tries again.
  Pointer operator()(std::uint64_t block) {
    std::unique_lock lock(mutex_);
    if (const auto found = entries_.find(block); found != entries_.end()) {
      used_.splice(used_.begin(), used_, found->second.place);
      const auto value = found->second.value;
      lock.unlock();
      return value.get();
    }
    std::promise<Pointer> promise;
    used_.push_front(block);
    entries_.emplace(block, Entry{promise.get_future().share(), used_.begin()});
    if (used_.size() > capacity_) {
      entries_.erase(used_.back());
      used_.pop_back();
    }
    lock.unlock();
    return load(block, promise);
  }

 private:
  struct Entry {
    std::shared_future<Pointer> value;
    std::list<std::uint64_t>::iterator place;  // position in used_
  };

  Pointer load(std::uint64_t block, std::promise<Pointer>& promise) {
    try {
      auto value = std::make_shared<const Value>(read_(block));
      promise.set_value(value);
      return value;
    } catch (...) {
      promise.set_exception(std::current_exception());
      const std::lock_guard lock(mutex_);
      if (const auto found = entries_.find(block); found != entries_.end()) {
        used_.erase(found->second.place);
        entries_.erase(found);
      }
      throw;
    }
  }

  std::size_t capacity_;
  Read read_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Entry> entries_;
  std::list<std::uint64_t> used_;  // most recent first
};

}  // namespace smelt::data
