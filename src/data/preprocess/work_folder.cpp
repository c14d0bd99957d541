#include "data/preprocess/work_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"

namespace smelt::data {
namespace fs = std::filesystem;

namespace {

constexpr const char *kJob = "job.json", *kLock = "smelt-work.lock";
constexpr std::string_view kMark = "a work folder of smelt\n";
constexpr std::string_view kTemporary = "smelt-work-";

[[noreturn]] void refuse(const std::string& path, std::string_view problem, std::string_view hint) {
  throw UsageError(str("work folder ", path, ": ", problem), hint);
}

[[noreturn]] void refuse_foreign(const std::string& path) {
  refuse(path, "holds other files", "remove it or name another folder with --work");
}

std::optional<OrderedJson> read_job(const std::string& path) {
  if (!io::exists(path)) return std::nullopt;
  const auto job = OrderedJson::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  return job.is_object() ? std::optional(job) : std::nullopt;
}

bool is_marked(const std::string& folder) {
  const std::string lock = folder + "/" + kLock;
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(lock, error)) &&
         fs::file_size(lock, error) == kMark.size() && io::read_file(lock) == kMark;
}

bool is_ours(const std::string& folder) {
  struct stat found;
  return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & 077) == 0;
}

}  // namespace

WorkFolder::WorkFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  for (int tries = 0;; ++tries) {
    if (tries == io::kMostLockTries) io::throw_vanishing(file(kLock));
    const io::Descriptor folder(open_folder());
    if (lock(folder.get())) break;  // otherwise another process removed it in between
  }
  keep_ = job().has_value();
}

WorkFolder::~WorkFolder() {
  if (!keep_) remove();
  ::close(descriptor_);  // releases the lock last, so that no other process uses a folder that is
                         // being removed
}

std::string WorkFolder::file(std::string_view name) const { return str(path_, "/", name); }

std::optional<OrderedJson> WorkFolder::job() const { return read_job(file(kJob)); }

void WorkFolder::begin(const OrderedJson& job) {
  clear();
  keep_ = false;
  io::write_file(file(kJob), job.dump(2) + "\n");
}

// Opens the folder, creating it if needed, and returns its descriptor.
int WorkFolder::open_folder() {
  const std::string parent = fs::path(path_).parent_path();
  if (!parent.empty() && !io::exists(parent)) {
    io::make_folders(parent);
    made_parent_ = parent;
  }
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST)
    throw_errno("make folder", path_, errno);
  io::Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0 && (errno == ELOOP || errno == ENOTDIR))
    refuse(path_, "is a link or a file", "name a folder, not a link, with --work");
  if (folder.get() < 0) throw_errno("open", path_, errno);
  struct stat found{};
  if (::fstat(folder.get(), &found) != 0 || found.st_uid != ::geteuid() ||
      (found.st_mode & S_IWOTH) != 0)
    refuse(path_, "belongs to another user, or other users may write to it",
           "name another folder with --work");
  return folder.release();
}

// Returns a descriptor of the lock file; negative if it was deleted meanwhile.
int WorkFolder::open_lock(int folder) const {
  const int found = ::openat(folder, kLock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (found >= 0) return found;
  if (errno != ENOENT) throw_errno("open", file(kLock), errno);
  if (!is_empty()) refuse_foreign(path_);
  const int made =
      ::openat(folder, kLock, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (made < 0 && errno != EEXIST && errno != ENOENT) throw_errno("make", file(kLock), errno);
  return made;
}

// Returns false if the folder was removed before it could be locked.
bool WorkFolder::lock(int folder) {
  io::Descriptor lock(open_lock(folder));
  if (lock.get() < 0) return false;
  const io::Locked locked = io::lock_or_warn(lock, file(kLock), "work folder");
  if (locked == io::Locked::by_another)
    refuse(path_, "another process is making these files", "wait for it, or stop it");
  if (locked == io::Locked::gone) return false;
  if (io::file_size(file(kLock)) == 0 && is_empty()) {
    if (::write(lock.get(), kMark.data(), kMark.size()) != std::ssize(kMark))
      throw_errno("write", file(kLock), errno);
  } else if (!is_marked(path_)) {
    refuse_foreign(path_);
  }
  descriptor_ = lock.release();
  return true;
}

// Returns whether the folder is empty except for the lock.
bool WorkFolder::is_empty() const {
  const std::vector<std::string> names = io::list_folder(path_);
  return names.empty() || (names.size() == 1 && names.front() == kLock);
}

void WorkFolder::remove() {
  try {
    clear();
  } catch (const Error&) {  // the folder is not empty and is kept
  }
  std::error_code ignored;
  fs::remove(file(kLock), ignored);
  fs::remove(path_, ignored);
  if (!made_parent_.empty()) fs::remove(made_parent_, ignored);
}

void WorkFolder::clear() {
  std::error_code ignored;
  fs::remove(file(kJob), ignored);  // first, because the other files are useless without it
  for (const std::string& name : io::list_folder(path_))
    if (name != kLock) fs::remove_all(file(name), ignored);
}

std::string temporary_work_folder(std::string_view field, const OrderedJson& value) {
  std::error_code error;
  const fs::path all = fs::temp_directory_path(error);
  if (error)
    throw SystemError(str("work folder: the folder for temporary files (TMPDIR) cannot be used: ",
                          error.message()),
                      "set TMPDIR to a folder that exists");
  for (const std::string& name : io::list_folder(all)) {
    const std::string folder = all / name;
    if (!name.starts_with(kTemporary) || !is_ours(folder) || !is_marked(folder)) continue;
    const auto job = read_job(folder + "/" + kJob);
    if (job && job->value(std::string(field), OrderedJson()) == value) return folder;
  }
  std::string fresh = all / str(kTemporary, "XXXXXX");
  if (::mkdtemp(fresh.data()) == nullptr) throw_errno("make folder", fresh, errno);
  return fresh;
}

}  // namespace smelt::data
