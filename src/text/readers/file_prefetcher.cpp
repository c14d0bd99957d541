#include "text/readers/file_prefetcher.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "io/filesystem/path.h"

namespace smelt::text {
namespace {

constexpr std::size_t kBatchesAhead = 2;  // batches buffered per file

}  // namespace

FilePrefetcher::FilePrefetcher(const std::vector<std::string>& files, Read read, int threads)
    : files_(files), read_(std::move(read)), queues_(files.size()) {
  const bool waits =
      std::ranges::any_of(files, [](const auto& path) { return io::is_remote(path); });
  const int wanted = waits ? kMostThreads : threads > 0 ? threads : available_threads();
  const auto count =
      std::min<std::size_t>(files.size(), static_cast<std::size_t>(std::min(wanted, kMostThreads)));
  window_ = 2 * count;
  for (const std::string& path : files) {
    std::error_code unknown;
    waits_turn_.push_back(!io::is_remote(path) && std::filesystem::exists(path, unknown) &&
                          !std::filesystem::is_regular_file(path, unknown));
  }
  threads_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (i > 0) break;  // continues with the threads that were started
      throw_no_thread(error);
    }
}

FilePrefetcher::~FilePrefetcher() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  for (const auto& queue : queues_)
    if (queue) queue->close();
  changed_.notify_all();
}

bool FilePrefetcher::may_begin() const {
  return !failed_ && begun_ < current_ + (waits_turn_[begun_] ? 1 : window_);
}

void FilePrefetcher::work() {
  for (;;) {
    std::shared_ptr<Queue> queue;
    std::size_t file = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || begun_ == files_.size() || may_begin(); });
      if (stopped_ || begun_ == files_.size()) return;
      file = begun_++;
      queue = queues_[file] = std::make_shared<Queue>(kBatchesAhead);
    }
    changed_.notify_all();
    read_(files_[file], [&](LineBatch batch) {
      if (batch.failure) {
        const std::lock_guard lock(mutex_);
        failed_ = true;
      }
      return queue->push(std::move(batch));
    });
  }
}

LineBatch FilePrefetcher::next() {
  std::shared_ptr<Queue> queue;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queues_[current_] != nullptr; });
    queue = queues_[current_];
  }
  LineBatch batch = std::move(queue->pop().value());
  if (batch.last) {
    const std::lock_guard lock(mutex_);
    queues_[current_++].reset();
    changed_.notify_all();
  }
  return batch;
}

}  // namespace smelt::text
