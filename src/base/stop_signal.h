// SIGTERM, SIGINT and SIGHUP as a flag that long work polls in order to stop cleanly. A second
// SIGTERM or SIGINT, at least one second after the first, ends the process at once; SIGHUP never
// does.
#pragma once

#include <array>

namespace smelt {

class StopSignal {
 public:
  // `notice`, a string literal, is printed at the first signal.
  explicit StopSignal(const char* notice);
  ~StopSignal();  // restores the previous handlers
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool raised();
  // Returns the number of the first signal, such as SIGINT, or 0 before any signal.
  static int number();

  // Replaces the notice while an object of this class exists, within the lifetime of a StopSignal.
  // `notice` must be a string literal.
  class Notice {
   public:
    explicit Notice(const char* notice);
    ~Notice();  // restores the previous notice
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

   private:
    const char* before_;
  };

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
