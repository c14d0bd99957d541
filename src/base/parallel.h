// Threads: run a function on several, and pass work between them.
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

// Calls body(0), …, body(threads - 1), each on its own thread, and waits for all. If a body
// throws, or a thread cannot be started (SystemError), `on_failure` is called at once, so that
// bodies that wait for others can stop; the first exception is rethrown at the end.
void run_parallel(int threads, const std::function<void(int)>& body,
                  const std::function<void()>& on_failure = {});

// Throws a SystemError that says why a thread cannot be started.
[[noreturn]] void throw_no_thread(const std::system_error& error);

// Runs `work` on a new thread. Throws SystemError if none can be started.
template <class Work>
std::future<std::invoke_result_t<Work>> run_async(Work work) try {
  return std::async(std::launch::async, std::move(work));
} catch (const std::system_error& error) {
  throw_no_thread(error);
}

// Calls body(0), …, body(count - 1) on up to `threads` threads, each once. If several throw,
// the exception of the lowest number is rethrown, so that the message is the same every time.
void run_each(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

// A first-in, first-out queue of at most `capacity` items.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  // Waits for room. Returns false, and drops the item, if the queue is closed.
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

// Lets numbered threads pass in order: wait(n) returns after leave(0), …, leave(n - 1) were called.
class Turnstile {
 public:
  // Returns false if the turnstile was stopped.
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
