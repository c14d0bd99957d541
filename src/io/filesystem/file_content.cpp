#include "io/filesystem/file_content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "base/error.h"
#include "io/filesystem/descriptor.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace {

// Returns whether the file is on a local disk. A network disk may fail at any time, and then an
// access to mapped memory raises SIGBUS.
bool is_local_disk(int fd) {
  struct ::statfs status{};
  if (::fstatfs(fd, &status) != 0) return false;
  switch (static_cast<unsigned long>(status.f_type)) {
    case 0xEF53:      // ext2 to ext4
    case 0x58465342:  // XFS
    case 0x9123683E:  // Btrfs
    case 0x2FC12FC1:  // ZFS
    case 0xF2F52010:  // F2FS
    case 0x01021994:  // tmpfs
    case 0x794C7630:  // overlayfs
      return true;
    default:
      return false;
  }
}

// Reads all pages of the mapping from disk. Returns false if that fails; true if the kernel does
// not support this.
bool is_readable(void* memory, std::size_t size) {
#ifdef MADV_POPULATE_READ
  return ::madvise(memory, size, MADV_POPULATE_READ) == 0 || errno == EINVAL;  // before Linux 5.14
#else
  return true;
#endif
}

// Maps a file into memory and sets `size`. Returns null for an empty file, for a file that is not
// regular or not on a local disk, and if mapping or reading it fails.
std::shared_ptr<const void> map(const std::string& path, std::size_t& size) {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0) throw_errno("open", path, errno);
  if (!S_ISREG(status.st_mode)) return nullptr;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) throw_errno("open", path, errno);
  size = static_cast<std::size_t>(status.st_size);
  if (size == 0 || !is_local_disk(file.get())) return nullptr;
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  std::shared_ptr<const void> owner(
      memory, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
  return is_readable(memory, size) ? owner : nullptr;
}

}  // namespace

FileContent::FileContent(const std::string& path) {
  std::size_t size = 0;
  const std::string local = downloaded_path(path);
  if (!is_remote(local)) owner_ = map(local, size);
  if (owner_ != nullptr) {
    bytes_ = {static_cast<const char*>(owner_.get()), size};
    return;
  }
  const auto read = std::make_shared<const std::string>(read_file(local));
  owner_ = read;
  bytes_ = *read;
}

}  // namespace smelt::io
