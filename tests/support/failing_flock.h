// A replacement of flock() that can fail, as on a file system without locks, or remove its file.
// May be included in one source of a test program.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace smelt {

inline int flock_error = 0;        // errno of flock(); 0: call the system's flock()
inline std::string flock_removes;  // a file that each call removes

}  // namespace smelt

// Replaces the C library's function.
extern "C" int flock(int fd, int operation) noexcept {
  if (!smelt::flock_removes.empty()) ::unlink(smelt::flock_removes.c_str());
  errno = smelt::flock_error;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_flock, fd, operation));
}
