// Locks between processes (flock), each on a file. The system ends a lock with the process that
// holds it, however that ends.
#pragma once

#include <optional>
#include <string>

#include "store/descriptor.h"

namespace smelt {

// What came of locking an open file: the lock is held until the descriptor is closed; another
// process has it; or `path` is no longer this file, which another process removed before.
enum class Locked { held, by_another, gone };
// SystemError where the file system has no locks. `path` is the file's name.
Locked lock_file(const Descriptor& file, const std::string& path);

// Who holds the lock of a local folder: "process 123 on host a"; nothing where nobody does, and of
// an object store.
std::optional<std::string> folder_worker(const std::string& folder);

// A local folder that one process at a time works in. The lock is a file in it that says who holds
// it and goes away with it. On an object store nothing is locked.
class FolderLock {
 public:
  // Makes the folder when it is not there. UsageError beginning with `where` when another process
  // holds it, SystemError for a lock that is a link. Where the file system has no locks, a warning.
  FolderLock(std::string folder, const std::string& where);
  // A folder that was made for the lock and is empty goes, too.
  ~FolderLock();
  // Removes all that the folder holds but the lock.
  void clear_folder() const;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  std::string folder_, path_;
  bool made_folder_ = false;
  Descriptor file_;
};

}  // namespace smelt
