#include "data/work_folder.h"

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

constexpr const char* kJob = "job.json";

bool holds(const std::string& path, const std::string& job) {
  return fs::exists(path) && read_file(path) == job;
}

}  // namespace

WorkFolder::WorkFolder(std::string path, const nlohmann::ordered_json& job) : path_(std::move(path)) {
  if (fs::exists(path_) && !fs::is_empty(path_) && !fs::exists(file(kJob)))
    throw UsageError(str("work folder ", path_, ": holds other files"),
                     "remove it or name another with --work");
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw_errno("make folder", path_, error.value());
  lock();
  const std::string text = job.dump(2) + "\n";
  if (holds(file(kJob), text)) return;
  for (const auto& entry : fs::directory_iterator(path_)) fs::remove_all(entry.path());
  lock();
  write_file(file(kJob), text);
}

WorkFolder::~WorkFolder() {
  if (descriptor_ >= 0) close(descriptor_);
  if (keep_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string WorkFolder::file(std::string_view name) const { return str(path_, "/", name); }

void WorkFolder::lock() {
  if (descriptor_ >= 0) close(descriptor_);
  const std::string name = file("lock");
  descriptor_ = open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor_ < 0) throw_errno("open", name, errno);
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  close(descriptor_);
  keep_ = true;  // it is the other process's
  throw UsageError(str("work folder ", path_, ": another process is making these files"),
                   "wait for it, or stop it");
}

void WorkFolder::remove() {
  keep_ = false;
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) throw_errno("remove", path_, error.value());
}

}  // namespace smelt
