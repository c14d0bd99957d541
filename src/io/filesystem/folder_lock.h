// Locks between processes (flock). The system releases a lock when its process ends.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/filesystem/descriptor.h"
#include "io/filesystem/remote_lock.h"

namespace smelt::io {

// The result of locking an open file: `held` until the descriptor is closed, locked `by_another`
// process, or `gone` because another process has removed or replaced the file at `path`.
enum class Locked { held, by_another, gone };
// Locks a file. Throws SystemError if the file system does not support locks. `path` is the file's
// name.
Locked lock_file(const Descriptor& file, const std::string& path);
// Locks a file. If the file system does not support locks, logs a warning that nothing protects
// this `what` from a second process, returns `held` and sets `has_locks` to false.
Locked lock_or_warn(const Descriptor& file, const std::string& path, std::string_view what,
                    bool* has_locks = nullptr);

// Maximum number of attempts to open and lock a file, if another process removes it again each
// time. Then SystemError is thrown.
constexpr int kMostLockTries = 100;
[[noreturn]] void throw_vanishing(const std::string& path);

// Returns the holder of a folder's lock, such as "process 123 on host a", or nullopt if it is free.
// On an object store, see remote_worker().
std::optional<std::string> folder_worker(const std::string& folder);

// Exclusive use of a folder by one process. On a disk the lock is a file in the folder that names
// its holder and is removed at the end; on an object store see io/filesystem/remote_lock.h.
class FolderLock {
 public:
  // Creates the folder if necessary and locks it. Throws UsageError, whose message begins with
  // `where`, if another process holds the lock or the folder is not writable, and SystemError if
  // the lock file is a link. Logs a warning if the file system does not support locks. Removes
  // temporary files of killed processes.
  FolderLock(std::string folder, const std::string& where, LockTimes times = {});
  // Releases the lock, and removes the folder if the constructor created it and it is empty.
  ~FolderLock();
  // Removes the contents of the folder except the lock. Throws like require_held_now().
  void clear_folder() const;
  // Throws SystemError if this process already knows that it has lost the lock, because another
  // process took it or its file was removed or replaced. Does not access the disk or the store.
  void require_held() const;
  // Checks the lock on the disk or the store and throws like require_held(). Call it before writing
  // a marker and before removing anything. Thread-safe.
  void require_held_now() const;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  void lock_local(const std::string& where);

  std::string folder_, path_, where_;
  bool made_folder_ = false;
  bool has_locks_ = false;  // whether the local file system supports locks
  mutable std::atomic<bool> lost_ = false;
  Descriptor file_;
  std::unique_ptr<RemoteLock> remote_;  // used instead of file_ on an object store
};

// A lock for reading and rewriting one file. The constructor waits until another process releases
// the lock, but at most Patience::at_most, because a suspended process keeps its lock. Then it logs
// a warning and continues without the lock. It also logs a warning that it waits once
// Patience::in_silence has passed. The lock file `path` is removed at the end. Does nothing on an
// object store.
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

}  // namespace smelt::io
