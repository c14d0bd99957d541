#include "store/file_content.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/error.h"
#include "store/descriptor.h"
#include "store/file.h"
#include "store/path.h"

namespace smelt {
namespace {

// Nothing for what cannot be mapped.
std::shared_ptr<const void> map(const std::string& path, std::size_t& size) {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0) throw_errno("open", path, errno);
  size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size == 0) return nullptr;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) throw_errno("open", path, errno);
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_WILLNEED);  // all of it, from now on
  return {memory, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); }};
}

}  // namespace

FileContent::FileContent(const std::string& path) {
  std::size_t size = 0;
  if (!is_remote(path)) owner_ = map(path, size);
  if (owner_ != nullptr) {
    bytes_ = {static_cast<const char*>(owner_.get()), size};
    return;
  }
  const auto read = std::make_shared<const std::string>(read_file(path));
  owner_ = read;
  bytes_ = *read;
}

}  // namespace smelt
