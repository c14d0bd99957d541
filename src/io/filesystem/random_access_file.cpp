#include "io/filesystem/random_access_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "io/filesystem/path.h"
#include "io/filesystem/remote_file.h"
#include "io/hub/hub_files.h"

namespace smelt::io {

RandomAccessFile::RandomAccessFile(std::string path) : path_(std::move(path)) {
  const std::string local = downloaded_path(path_);
  if (is_remote(local)) {
    remote_ = std::make_shared<RemoteFile>(path_);
    size_ = remote_->size();
    return;
  }
  descriptor_.reset(::open(local.c_str(), O_RDONLY | O_CLOEXEC));
  struct ::stat status{};
  if (!descriptor_.is_open() || ::fstat(descriptor_.get(), &status) != 0)
    throw_errno("open", path_, errno);
  if (S_ISDIR(status.st_mode)) throw_errno("open", path_, EISDIR);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::size_t RandomAccessFile::read_at(std::uint64_t offset, std::span<char> out) const {
  if (remote_) return remote_->read_at(offset, out);
  std::size_t done = 0;
  while (done < out.size()) {
    const ::ssize_t count = ::pread(descriptor_.get(), out.data() + done, out.size() - done,
                                    static_cast<::off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("read", path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace smelt::io
