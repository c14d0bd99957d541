// SIGTERM, SIGINT and SIGHUP as a flag while work lasts that ends by itself then. A second SIGTERM
// or SIGINT, at least one second after the first, ends the process at once; SIGHUP never does.
#pragma once

#include <array>

namespace smelt {

class StopSignal {
 public:
  // `notice` is what a user reads at the first one; a literal.
  explicit StopSignal(const char* notice);
  ~StopSignal();  // what was there before is set again
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool raised();
  // The number of the first signal, such as SIGINT; 0 if none came.
  static int number();

  // What a user reads instead while it lasts; a literal. Within a StopSignal.
  class Notice {
   public:
    explicit Notice(const char* notice);
    ~Notice();  // what was read before is again
    Notice(const Notice&) = delete;
    Notice& operator=(const Notice&) = delete;

   private:
    const char* before_;
  };

 private:
  std::array<void (*)(int), 3> old_{};
};

}  // namespace smelt
