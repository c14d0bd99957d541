#include "store/folder_lock.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/error.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr const char* kLockName = "smelt.lock";

Descriptor open_lock(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.is_open()) throw_errno("open", path, errno);
  return file;
}

// "process 123 on host a"
std::string this_process() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  return str("process ", ::getpid(), " on host ", host.data());
}

std::string holder(const Descriptor& file) {
  std::array<char, 512> text{};
  const auto size = ::pread(file.get(), text.data(), text.size(), 0);
  const std::string found(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return found.empty() ? "another process" : found;
}

void write_holder(const Descriptor& file, const std::string& path) {
  const std::string text = this_process();
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), text.data(), text.size(), 0) < 0)
    throw_errno("write", path, errno);
}

// Work goes on where the file system has no locks.
Locked lock_or_warn(const Descriptor& file, const std::string& path) {
  try {
    return lock_file(file, path);
  } catch (const SystemError& error) {
    spdlog::warn("{}: nothing keeps a second process out of this folder", error.what());
    return Locked::held;
  }
}

}  // namespace

Locked lock_file(const Descriptor& file, const std::string& path) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return Locked::by_another;
    throw_errno("lock", path, errno);
  }
  struct stat held{}, named{};
  const bool same = ::fstat(file.get(), &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                    held.st_ino == named.st_ino && held.st_dev == named.st_dev;
  return same ? Locked::held : Locked::gone;
}

std::optional<std::string> folder_worker(const std::string& folder) {
  if (is_remote(folder)) return std::nullopt;
  const std::string path = join_path(folder, kLockName);
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.is_open() || ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return std::nullopt;
  return holder(file);
}

FolderLock::FolderLock(std::string folder, const std::string& where)
    : folder_(std::move(folder)), path_(join_path(folder_, kLockName)) {
  if (is_remote(folder_)) return;
  made_folder_ = !exists(folder_);
  Locked locked = Locked::gone;
  while (locked == Locked::gone) {
    make_folders(folder_);
    file_ = open_lock(path_);
    locked = lock_or_warn(file_, path_);
  }
  if (locked == Locked::by_another)
    throw UsageError(str(where, ": ", folder_, " is in use by ", holder(file_)),
                     "wait for it, stop it, or choose another folder");
  write_holder(file_, path_);
}

FolderLock::~FolderLock() {
  if (!file_.is_open()) return;
  ::unlink(path_.c_str());  // before it is closed: nobody takes a lock that is being removed
  if (made_folder_) ::rmdir(folder_.c_str());
}

void FolderLock::clear_folder() const {
  for (const std::string& name : list_folder(folder_))
    if (name != kLockName) remove_tree(join_path(folder_, name));
}

}  // namespace smelt
