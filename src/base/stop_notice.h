// What a user reads who ends a long job with SIGTERM, SIGINT or SIGHUP.
#pragma once

#include <array>

#include "base/exit_codes.h"

namespace smelt {

// From now on SIGTERM, SIGINT and SIGHUP end this process with exit code 75, after its temporary
// folders (base/temporary_path.h) are removed. For commands without a handler of their own.
void end_at_signals();

// While it lasts, these signals say that the same command goes on, and end the process at once with
// exit code 75: what is under way has no name yet, and the same command clears it away. From its
// construction on, a closed pipe of the output does not end the process (base/closed_pipe.h).
class StopNotice {
 public:
  StopNotice();
  // Nothing is left but to clear away: a signal no longer cuts that off.
  static void let_finish();
  ~StopNotice();  // what was there before is set again
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
