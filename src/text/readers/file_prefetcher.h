// Reads several files in parallel and returns their batches in file order.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"
#include "text/readers/line_batches.h"

namespace smelt::text {

// Prefetches files with at most kMostThreads threads. Memory is bounded: a few batches are buffered
// for each of at most twice as many files as threads. For object stores all kMostThreads threads
// are started, because they mostly wait.
class FilePrefetcher {
 public:
  using Put = std::function<bool(LineBatch)>;
  // Passes the batches of one file to `put` in order and stops if it returns false. The last batch
  // must be marked as last. Called from several threads at once, with different files.
  using Read = std::function<void(const std::string& path, const Put& put)>;
  static constexpr int kMostThreads = 8;

  // `files` and whatever `read` refers to must outlive this object. Throws SystemError if no thread
  // can be started.
  FilePrefetcher(const std::vector<std::string>& files, Read read, int threads);
  ~FilePrefetcher();
  FilePrefetcher(const FilePrefetcher&) = delete;
  FilePrefetcher& operator=(const FilePrefetcher&) = delete;

  // Returns the next batch in file order. Must not be called after the last batch of the last file.
  LineBatch next();

 private:
  using Queue = BoundedQueue<LineBatch>;
  void work();
  bool may_begin() const;

  const std::vector<std::string>& files_;
  Read read_;
  std::size_t window_ = 0;        // maximum number of files begun but not yet returned
  std::vector<char> waits_turn_;  // per file: true for a pipe, which is not prefetched because
                                  // reading it may block
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Queue>>
      queues_;  // per file; null before the file is opened and after its end
  std::size_t begun_ = 0, current_ = 0;
  bool stopped_ = false, failed_ = false;  // failed_: do not begin another file
  std::vector<std::jthread> threads_;
};

}  // namespace smelt::text
