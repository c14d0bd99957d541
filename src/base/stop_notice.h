// What a user reads who ends a long job with SIGINT or SIGTERM.
#pragma once

#include <array>

namespace smelt {

// While it lasts, both signals say that the same command goes on, and then end the process as ever.
class StopNotice {
 public:
  StopNotice();
  ~StopNotice();  // what was there before is set again
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  std::array<void (*)(int), 2> old_{};
};

}  // namespace smelt
