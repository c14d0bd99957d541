// Several files are read side by side, and come out one after another.
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

namespace smelt {

// Memory is bounded: of up to twice as many files as there are threads, and at most kMostThreads of
// these, some batches are held that nobody has taken. On object stores all those threads are
// started, as they mostly wait.
class FilesAhead {
 public:
  using Put = std::function<bool(LineBatch)>;
  // Hands the batches of one file to `put` in order, the last one marked so in any case; stops when
  // it returns false. Called on several threads at once, with different files.
  using Read = std::function<void(const std::string& path, const Put& put)>;
  static constexpr int kMostThreads = 8;

  // Both files and reader must outlive this. SystemError when no thread can be started.
  FilesAhead(const std::vector<std::string>& files, Read read, int threads);
  ~FilesAhead();
  FilesAhead(const FilesAhead&) = delete;
  FilesAhead& operator=(const FilesAhead&) = delete;

  // The next batch of the first file that has one left; not to be called behind the last batch of
  // the last file.
  LineBatch next();

 private:
  using Queue = BoundedQueue<LineBatch>;
  void work();
  bool may_begin() const;

  const std::vector<std::string>& files_;
  Read read_;
  std::size_t window_ = 0;        // files that are begun and not taken, at most
  std::vector<char> waits_turn_;  // of files: a pipe, which may block, is not read ahead
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Queue>>
      queues_;  // of files: none before it is begun and behind its end
  std::size_t begun_ = 0, current_ = 0;
  bool stopped_ = false, failed_ = false;  // failed: no further file is begun
  std::vector<std::jthread> threads_;
};

}  // namespace smelt
