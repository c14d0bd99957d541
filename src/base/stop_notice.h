// Handling of SIGTERM, SIGINT and SIGHUP in commands that have nothing to save.
#pragma once

#include <array>

#include "base/exit_codes.h"

namespace smelt {

// Makes SIGTERM, SIGINT and SIGHUP end this process with exit code 75 after removing its temporary
// folders (base/temporary_path.h). For commands without their own signal handler.
void end_at_signals();

// While an object of this class exists, SIGTERM, SIGINT and SIGHUP end the process at once with
// exit code 75, after a message that the same command resumes the work. Unfinished output has a
// temporary name; the next run removes it. The first object also makes the process survive a closed
// output pipe from then on (base/closed_pipe.h).
class StopNotice {
 public:
  StopNotice();
  // Ignores the signals from now on, so that they do not interrupt the final cleanup.
  static void let_finish();
  ~StopNotice();  // restores the previous handlers
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
