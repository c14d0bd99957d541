// Temporary folders that are removed even if a signal ends the process.
#pragma once

#include <cstddef>
#include <string>

namespace smelt {

// Registers a folder of temporary files. remove_temporary_paths() removes it as long as this object
// exists. The destructor only unregisters the folder; its owner removes it.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& path);
  ~TemporaryPath();
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

 private:
  std::size_t slot_;
};

// Removes all registered folders and their contents. Signal handlers may call it. Returns whether
// there were any.
bool remove_temporary_paths();

}  // namespace smelt
