// Random access to more files than a process may hold open.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/filesystem/random_access_file.h"

namespace smelt {

// Thread-safe. Keeps the files open that were used last.
class OpenFiles {
 public:
  OpenFiles(std::vector<std::string> paths, std::size_t capacity);

  const std::vector<std::string>& paths() const { return paths_; }
  // UsageError when it cannot be opened (again).
  std::shared_ptr<const RandomAccessFile> open(std::size_t file);

 private:
  using Handle = std::shared_ptr<const RandomAccessFile>;

  std::vector<std::string> paths_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::vector<Handle> handles_;                           // null: not open
  std::list<std::size_t> used_;                           // open files, the latest first
  std::vector<std::list<std::size_t>::iterator> places_;  // in used_
};

}  // namespace smelt
