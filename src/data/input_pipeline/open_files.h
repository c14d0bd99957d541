// Random access to more files than a process may have open.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/filesystem/random_access_file.h"

namespace smelt::data {

// Keeps the most recently used files open. Thread-safe.
class OpenFiles {
 public:
  OpenFiles(std::vector<std::string> paths, std::size_t capacity);

  const std::vector<std::string>& paths() const { return paths_; }
  // Throws UsageError if the file cannot be opened or reopened.
  std::shared_ptr<const io::RandomAccessFile> open(std::size_t file);

 private:
  using Handle = std::shared_ptr<const io::RandomAccessFile>;

  std::vector<std::string> paths_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::vector<Handle> handles_;                           // null: not open
  std::list<std::size_t> used_;                           // open files, most recent first
  std::vector<std::list<std::size_t>::iterator> places_;  // positions in used_
};

}  // namespace smelt::data
