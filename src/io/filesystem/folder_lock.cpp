#include "io/filesystem/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_path.h"

namespace smelt::io {
namespace {

// folder_worker() itself holds the lock for a short time, so locking is tried this many times.
constexpr int kMostGlances = 5;
constexpr auto kGlance = std::chrono::milliseconds(20);

Descriptor open_lock(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.is_open()) throw_errno("open", path, errno);
  return file;
}

std::string owner_text(const Descriptor& file) {
  std::array<char, 8192> text{};
  const auto size = ::pread(file.get(), text.data(), text.size(), 0);
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

void write_owner(const Descriptor& file, const std::string& path) {
  const std::string text = LockOwner::this_process().text();
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), text.data(), text.size(), 0) < 0)
    throw_errno("write", path, errno);
}

// Returns whether `path` still names the open file: false if the file was removed, replaced or
// moved, nullopt if the file system returns an error.
std::optional<bool> is_named(const Descriptor& file, const std::string& path) {
  struct stat held{}, named{};
  if (::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0)
    return held.st_ino == named.st_ino && held.st_dev == named.st_dev;
  if (errno == ENOENT || errno == ENOTDIR || errno == ESTALE) return false;
  return std::nullopt;
}

// Removes the file of a lock that this process holds, but not another process's file of the same
// name.
void remove_lock(const Descriptor& file, const std::string& path) {
  if (is_named(file, path).value_or(false))
    ::unlink(path.c_str());  // before the file is closed, so that no process locks a file that is
                             // being removed
}

}  // namespace

Locked lock_file(const Descriptor& file, const std::string& path) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Locked::by_another;
    throw_errno("lock", path, errno);
  }
  return is_named(file, path).value_or(false) ? Locked::held : Locked::gone;
}

Locked lock_or_warn(const Descriptor& file, const std::string& path, std::string_view what,
                    bool* has_locks) {
  if (has_locks != nullptr) *has_locks = true;
  try {
    return lock_file(file, path);
  } catch (const SystemError& error) {
    log_warning("{}: smelt cannot prevent a second process from using this {}", error.what(), what);
    if (has_locks != nullptr) *has_locks = false;
    return Locked::held;
  }
}

void throw_vanishing(const std::string& path) {
  throw SystemError(
      str("lock: ", path, ": was removed or replaced in each of ", kMostLockTries, " attempts"),
      "choose a folder on a disk of this machine");
}

std::optional<std::string> folder_worker(const std::string& folder) {
  if (is_hub_path(folder)) return std::nullopt;
  if (is_remote(folder)) return remote_worker(folder);
  const std::string path = join_path(folder, kLockName);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return std::nullopt;
  return LockOwner::parse(owner_text(file)).words;
}

FolderLock::FolderLock(std::string folder, const std::string& where, LockTimes times)
    : folder_(std::move(folder)),
      path_(join_path(folder_, kLockName)),
      where_(str(where, ": ", folder_)) {
  if (is_remote(folder_))
    remote_ = std::make_unique<RemoteLock>(folder_, where, times);
  else
    lock_local(where);
}

void FolderLock::lock_local(const std::string& where) {
  made_folder_ = !exists(folder_);
  Locked locked = Locked::gone;
  for (int tries = 0, glances = 0; locked != Locked::held; ++tries) {
    if (tries == kMostLockTries) throw_vanishing(path_);
    make_folders(folder_);
    file_ = open_lock(path_);
    locked = lock_or_warn(file_, path_, "folder", &has_locks_);
    if (locked == Locked::by_another && ++glances > kMostGlances) break;
    if (locked == Locked::by_another) std::this_thread::sleep_for(kGlance);
  }
  const std::string text = owner_text(file_);
  const LockOwner owner = LockOwner::parse(text);
  if (locked == Locked::by_another)
    throw UsageError(str(where, ": ", folder_, " is in use by ", owner.words),
                     "wait for it, stop it, or choose another folder");
  if (!text.empty())
    log_info("{}: {} was in use by {}, which has ended", where, folder_, owner.words);
  write_owner(file_, path_);
  if (has_locks_) remove_abandoned_in(folder_);  // temporary files of a killed process
}

FolderLock::~FolderLock() {
  if (!file_.is_open()) return;
  remove_lock(file_, path_);
  if (made_folder_) ::rmdir(folder_.c_str());
}

FileLock::FileLock(std::string path, Patience patience) : path_(std::move(path)) {
  if (is_remote(path_)) return;
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::steady_clock::now() - begin; };
  bool said = false;
  while (waited() < patience.at_most) {
    file_ = open_lock(path_);
    if (lock_or_warn(file_, path_, "file") == Locked::held) return;
    if (!said && waited() > patience.in_silence) {
      log_warning("waiting for another process that holds the lock {}", path_);
      said = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  file_.reset();
  log_warning("the lock {} is still held by another process; continuing without it", path_);
}

FileLock::~FileLock() {
  if (file_.is_open()) remove_lock(file_, path_);
}

void FolderLock::require_held_now() const {
  if (remote_) return remote_->require_held_now();
  if (has_locks_ && is_named(file_, path_) == false) lost_ = true;
  require_held();
}

void FolderLock::require_held() const {
  if (remote_) return remote_->require_held();
  if (lost_)
    throw SystemError(str(where_, ": its lock ", kLockName,
                          " was removed or replaced while this process worked in the folder: "
                          "another process may be using it now"),
                      "run one process at a time in the folder, and do not remove its lock; "
                      "checkpoints saved before are valid");
}

void FolderLock::clear_folder() const {
  require_held_now();
  for (const std::string& name : list_folder(folder_))
    if (name != kLockName) remove_tree(join_path(folder_, name));
}

}  // namespace smelt::io
