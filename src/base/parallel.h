// Threads for one piece of work: run a body on several, hand work over between them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace smelt {

// Cores that this process may use, at least 1.
int available_threads();

// Calls body(0), …, body(threads - 1), each on its own thread, and waits for all. The first
// exception is thrown again then; `on_failure` is called at once when one ends so, to let the
// others stop.
void run_parallel(int threads, const std::function<void(int)>& body,
                  const std::function<void()>& on_failure = {});

// Calls body(0), …, body(count - 1) on up to `threads` threads, each once. Of several exceptions
// the one of the lowest number is thrown, so that a fault is told the same way every time.
void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

// First in, first out; push waits while `capacity` items are inside.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // False, and the item is dropped, once the queue is closed.
  bool push(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    changed_.notify_all();
    return true;
  }
  // Waits for an item; nullopt once the queue is closed and empty.
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

// Lets numbered pieces of work pass in order: wait(n) returns once leave(0), …, leave(n - 1) were
// called.
class Turnstile {
 public:
  // False when the turnstile was stopped.
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
