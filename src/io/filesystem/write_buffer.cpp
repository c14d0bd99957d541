#include "io/filesystem/write_buffer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace smelt::io {
namespace {

// Alignment of direct writes in memory and in the file; every disk accepts it.
constexpr std::size_t kUnit = 4096;

}  // namespace

// Returns the buffer size in bytes. It is larger for direct writes, because each one waits for the
// disk.
std::size_t WriteBuffer::capacity() const {
  return direct_ ? std::size_t{4} << 20 : std::size_t{128} << 10;
}

bool WriteBuffer::write(int fd, std::string_view bytes) {
  if (memory_ == nullptr) {
    memory_.reset(static_cast<char*>(std::aligned_alloc(kUnit, capacity())));
    if (memory_ == nullptr) throw std::bad_alloc();
  }
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), capacity() - held_);
    std::memcpy(memory_.get() + held_, bytes.data(), count);
    held_ += count;
    bytes.remove_prefix(count);
    if (held_ == capacity() && !empty(fd)) return false;
  }
  return true;
}

bool WriteBuffer::flush(int fd) {
  if (!empty(fd)) return false;
  memory_.reset();
  return true;
}

bool WriteBuffer::empty(int fd) {
  const std::string_view all(memory_.get(), std::exchange(held_, 0));
  const std::size_t whole = direct_ ? all.size() - all.size() % kUnit : all.size();
  if (!hand_over(fd, all.substr(0, whole))) return false;
  const std::string_view rest = all.substr(whole);
  return rest.empty() || (stop_bypassing(fd) && hand_over(fd, rest));
}

bool WriteBuffer::hand_over(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ::ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    // The disk needs a larger alignment, or the file system accepts O_DIRECT but not such writes.
    if (count < 0 && errno == EINVAL && direct_ && stop_bypassing(fd)) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    if (direct_ && count % kUnit != 0 && !stop_bypassing(fd)) return false;
  }
  return true;
}

bool WriteBuffer::stop_bypassing(int fd) {
  direct_ = false;
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

}  // namespace smelt::io
