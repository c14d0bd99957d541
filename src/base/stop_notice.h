// Handling of SIGTERM, SIGINT and SIGHUP in commands that have nothing to save.
#pragma once

#include <array>

#include "base/exit_codes.h"

namespace smelt {

// Makes SIGTERM, SIGINT and SIGHUP end this process with exit code 75 after removing its temporary
// folders (base/temporary_path.h). For commands without their own signal handler.
void end_at_signals();

// While an object of this class exists, these signals print that the same command resumes, and end
// the process at once with exit code 75. Unfinished output has a temporary name, which the next run
// removes. Also makes the process survive a closed output pipe, from the first object on
// (base/closed_pipe.h).
class StopNotice {
 public:
  StopNotice();
  // Disables the signals for the final cleanup, so that they do not interrupt it.
  static void let_finish();
  ~StopNotice();  // restores the previous handlers
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
