// Locks between processes (flock), each on a file. The system ends a lock with the process that
// holds it, however that ends.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/filesystem/descriptor.h"
#include "io/filesystem/remote_lock.h"

namespace smelt {

// The result of locking an open file: the lock is held until the descriptor is closed; another
// process has it; or `path` is another file now, because another process removed this one.
enum class Locked { held, by_another, gone };
// Locks a file. `path` is its name. Throws SystemError if the file system has no locks.
Locked lock_file(const Descriptor& file, const std::string& path);
// Does the same, but if the file system has no locks, logs a warning that a second process may use
// this `what` at the same time, sets `has_locks` to false and returns `held`.
Locked lock_or_warn(const Descriptor& file, const std::string& path, std::string_view what,
                    bool* has_locks = nullptr);

// How often a lock file is opened again if it was removed when it was locked; then SystemError.
constexpr int kMostLockTries = 100;
[[noreturn]] void throw_vanishing(const std::string& path);

// Who holds the lock of a folder: "process 123 on host a"; nothing where nobody does. On an object
// store as remote_worker() says.
std::optional<std::string> folder_worker(const std::string& folder);

// A folder that one process at a time works in. On a disk the lock is a file in it that says who
// holds it and goes away with it; on an object store see io/filesystem/remote_lock.h.
class FolderLock {
 public:
  // Makes the folder when it is not there. UsageError beginning with `where` when another process
  // holds it, naming that, and when the folder may not be written to; SystemError for a lock that
  // is a link. Where the file system has no locks, a warning. Removes partial files in the folder
  // that killed processes left.
  FolderLock(std::string folder, const std::string& where, LockTimes times = {});
  // A folder that was made for the lock and is empty goes, too.
  ~FolderLock();
  // Removes all that the folder holds but the lock. SystemError as require_held_now().
  void clear_folder() const;
  // Throws SystemError if this process is known to have lost the lock, since another process took
  // it or its file was removed or replaced. Reads nothing.
  void require_held() const;
  // Checks the lock on the disk or the store, then throws as require_held(). Call it before a
  // marker is written and before anything is removed. Thread-safe.
  void require_held_now() const;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void lock_local(const std::string& where);

  std::string folder_, path_, where_;
  bool made_folder_ = false;
  bool has_locks_ = false;  // the file system of a local folder
  mutable std::atomic<bool> lost_ = false;
  Descriptor file_;
  std::unique_ptr<RemoteLock> remote_;  // instead of file_
};

// A lock that is held while a file is read and rewritten. Other processes wait for it for a limited
// time, because a stopped process keeps its lock; both are logged. The lock file `path` is removed
// at the end. Has no effect on an object store.
class FileLock {
 public:
  struct Patience {
    std::chrono::milliseconds in_silence{1000}, at_most{60000};
  };
  explicit FileLock(std::string path, Patience patience);
  explicit FileLock(std::string path) : FileLock(std::move(path), Patience()) {}
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  std::string path_;
  Descriptor file_;
};

}  // namespace smelt
