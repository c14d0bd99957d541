#include "store/growing_file.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <cerrno>

#include "base/error.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  if (exists(path_)) throw UsageError(str(path_, ": is there already"), "choose another name");
  if (is_remote(path_)) return;
  if (const std::string parent = parent_path(path_); !parent.empty()) make_folders(parent);
  open(O_CREAT | O_EXCL);
}

GrowingFile::GrowingFile(std::string path, std::string_view begin) : path_(std::move(path)) {
  write_file(path_, begin);
  if (is_remote(path_)) {
    whole_ = begin;
    written_ = Clock::now();
  } else {
    open(0);
  }
}

GrowingFile::~GrowingFile() {
  if (!lacks_) return;
  try {
    write_object();
  } catch (const std::exception& error) {
    spdlog::warn("{}: its end is missing: {}", path_, error.what());
  }
}

void GrowingFile::open(int flags) {
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666));
  if (!file_.is_open()) throw_errno("write", path_, errno);
}

void GrowingFile::write_object() {
  write_file(path_, whole_);
  written_ = Clock::now();
  lacks_ = false;
}

void GrowingFile::add(std::string_view bytes) {
  if (!file_.is_open()) {
    whole_ += bytes;
    lacks_ = true;
    if (!written_ || seconds_since(*written_) >= object_seconds_) write_object();
    return;
  }
  while (!bytes.empty()) {
    const auto count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace smelt
