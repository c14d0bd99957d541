// Helpers for threads: parallel loops, a bounded queue and ordered hand-over.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace smelt {

// Returns the number of cores that this process may use, at least 1.
int available_threads();

// Calls body(0), …, body(threads - 1), each on its own thread, waits for all, and rethrows the
// first exception. Throws SystemError if a thread cannot be started. `on_failure` is called as soon
// as the first failure occurs; it must wake up bodies that wait for other threads.
void run_parallel(int threads, const std::function<void(int)>& body,
                  const std::function<void()>& on_failure = {});

// Throws SystemError with the reason why a thread cannot be started.
[[noreturn]] void throw_no_thread(const std::system_error& error);

// Runs `work` on a new thread. Throws SystemError if no thread can be started.
template <class Work>
std::future<std::invoke_result_t<Work>> run_async(Work work) try {
  return std::async(std::launch::async, std::move(work));
} catch (const std::system_error& error) {
  throw_no_thread(error);
}

// Calls body(0), …, body(count - 1) once each on up to `threads` threads. If several throw,
// rethrows the exception with the lowest index, so that errors are reproducible.
void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

// A thread-safe FIFO queue. push() blocks while it holds `capacity` items.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // Returns false and drops the item if the queue is closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  // Waits for an item. Returns nullopt if the queue is closed and empty.
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    changed_.notify_all();
    return item;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

// Lets threads do numbered pieces of work one at a time, in the order of their numbers: wait(n)
// returns once leave(0), …, leave(n - 1) were called.
class OrderedGate {
 public:
  // Waits until it is the turn of the piece of work with this number. Returns false if stop() was
  // called.
  bool wait(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || next_ == number; });
    return !stopped_;
  }
  void leave(std::size_t number) {
    const std::lock_guard lock(mutex_);
    next_ = number + 1;
    changed_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace smelt
