// SIGTERM, SIGINT and SIGHUP as a flag while a run lasts: the step under way ends, then the run
// saves. A second one ends the process at once.
#pragma once

#include <array>

namespace smelt {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();  // what was there before is set again
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool raised();

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
