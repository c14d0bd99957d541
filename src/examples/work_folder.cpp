#include "examples/work_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"
#include "store/file.h"

namespace smelt {
namespace fs = std::filesystem;

namespace {

// The lock is the first file to be made and the last to be removed: a folder with it is ours.
constexpr const char *kJob = "job.json", *kLock = "lock";

bool holds(const std::string& path, const std::string& job) {
  return fs::exists(path) && read_file(path) == job;
}

}  // namespace

WorkFolder::WorkFolder(std::string path, const nlohmann::ordered_json& job)
    : path_(std::move(path)) {
  if (fs::exists(path_) && !fs::is_empty(path_) && !fs::exists(file(kLock)))
    throw UsageError(str("work folder ", path_, ": holds other files"),
                     "remove it or name another with --work");
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw_errno("make folder", path_, error.value());
  lock();
  const std::string text = job.dump(2) + "\n";
  if (holds(file(kJob), text)) return;
  clear();
  write_file(file(kJob), text);
}

WorkFolder::~WorkFolder() {
  if (!keep_) clear();
  close(descriptor_);
  std::error_code ignored;
  if (!keep_) fs::remove_all(path_, ignored);
}

std::string WorkFolder::file(std::string_view name) const { return str(path_, "/", name); }

void WorkFolder::lock() {
  const std::string name = file(kLock);
  descriptor_ = open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor_ < 0) throw_errno("open", name, errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  close(descriptor_);
  throw UsageError(str("work folder ", path_, ": another process is making these files"),
                   "wait for it, or stop it");
}

void WorkFolder::clear() {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored))
    if (entry.path().filename() != kLock) fs::remove_all(entry.path(), ignored);
}

}  // namespace smelt
