// A flock() that can fail as on a file system that has no locks. For one source of a test program.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace smelt {

inline int flock_error = 0;  // what flock() fails with; 0: it is the system's

}  // namespace smelt

// Instead of the C library's.
extern "C" int flock(int fd, int operation) noexcept {
  errno = smelt::flock_error;
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_flock, fd, operation));
}
