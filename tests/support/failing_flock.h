// A flock() that can fail as on a file system that has no locks, or find its file removed. For one
// source of a test program.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace smelt {

inline int flock_error = 0;        // what flock() fails with; 0: it is the system's
inline std::string flock_removes;  // a file that goes away with each call

}  // namespace smelt

// Instead of the C library's.
extern "C" int flock(int fd, int operation) noexcept {
  if (!smelt::flock_removes.empty()) ::unlink(smelt::flock_removes.c_str());
  errno = smelt::flock_error;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_flock, fd, operation));
}
