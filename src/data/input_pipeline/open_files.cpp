#include "data/input_pipeline/open_files.h"

namespace smelt::data {

OpenFiles::OpenFiles(std::vector<std::string> paths, std::size_t capacity)
    : paths_(std::move(paths)),
      capacity_(capacity),
      handles_(paths_.size()),
      places_(paths_.size()) {}

std::shared_ptr<const io::RandomAccessFile> OpenFiles::open(std::size_t file) {
  {
    const std::lock_guard lock(mutex_);
    if (handles_[file]) {
      used_.splice(used_.begin(), used_, places_[file]);
      return handles_[file];
    }
  }
  auto opened =
      // Opened without the lock, because it may take long.
      std::make_shared<const io::RandomAccessFile>(paths_[file]);
  const std::lock_guard lock(mutex_);
  if (handles_[file]) return handles_[file];  // another thread was faster
  handles_[file] = std::move(opened);
  used_.push_front(file);
  places_[file] = used_.begin();
  if (used_.size() > capacity_) {
    handles_[used_.back()].reset();
    used_.pop_back();
  }
  return handles_[file];
}

}  // namespace smelt::data
