#include "io/filesystem/growing_file.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::io {

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)) {
  if (exists(path_)) throw UsageError(str(path_, ": exists already"), "choose another name");
  if (is_remote(path_)) {
    object_ = std::make_unique<GrowingObject>(path_, "");
    return;
  }
  if (const std::string parent = parent_path(path_); !parent.empty()) make_folders(parent);
  open(O_CREAT | O_EXCL);
}

GrowingFile::GrowingFile(std::string path, std::string_view begin) : path_(std::move(path)) {
  write_file(path_, begin);
  if (is_remote(path_))
    object_ = std::make_unique<GrowingObject>(path_, begin);
  else
    open(0);
}

void GrowingFile::open(int flags) {
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | flags, 0666));
  if (!file_.is_open()) throw_errno("write", path_, errno);
}

void GrowingFile::add(std::string_view bytes) {
  if (object_) return object_->add(bytes);
  while (!bytes.empty()) {
    const auto count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void GrowingFile::continue_in(std::string path) {
  CHECK(object_ != nullptr);
  auto next = std::make_unique<GrowingObject>(path, "");
  next->write_every(object_->every());
  completing_ = std::exchange(object_, std::move(next));
  completing_->complete();
  path_ = std::move(path);
}

}  // namespace smelt::io
