// Handling of SIGTERM, SIGINT and SIGHUP in commands that do not save at a signal.
#pragma once

#include <array>

#include "base/exit_codes.h"

namespace smelt {

// From now on SIGTERM, SIGINT and SIGHUP end this process with exit code 75, after its temporary
// folders (base/temporary_path.h) are removed. For commands that install no other handler.
void end_at_signals();

// While it lives, these signals print that the same command resumes, and end the process at once
// with exit code 75. Unfinished files still have temporary names; the same command removes them.
// After its construction a closed output pipe does not end the process (base/closed_pipe.h).
class StopNotice {
 public:
  StopNotice();
  // Ignores these signals from now on, so that cleaning up is not interrupted.
  static void let_finish();
  ~StopNotice();  // restores the previous handlers
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
