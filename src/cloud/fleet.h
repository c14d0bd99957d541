// Programs that run side by side, one for each worker of a machine, and what they print.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

struct FleetProgram {
  int worker = 0;
  std::vector<std::string> words;  // found as the shell finds it; no shell reads them
  bool reads_input = true;         // else it is told to end by TERM, as scp, which reads no input
  std::function<void(const std::string& text)> out = {}, err = {};  // instead of the rules'
};

struct FleetRules {
  std::chrono::milliseconds timeout{0};     // of all together; 0 = none
  std::chrono::milliseconds grace{10'000};  // from being told to end until being killed
  int tries = 3;                            // where the worker is not reached
  std::chrono::milliseconds between{5000};  // the tries
  int at_once = 100;
  bool prefixed = true;  // "[worker 3] " before each line; else bytes go on as they come
  std::function<void(const std::string& text)> out, err;
};

struct FleetEnd {
  int worker = 0;
  int status = 0;       // 128 + the number of the signal that ended it, 124 after the time-out
  std::string why_not;  // what kept ssh from reaching the worker; "" when it did
};

// Runs all of them and waits for each. Their standard input is a pipe that stays open; its end
// tells a guarded command (guarded_command) to end. One that ends with 255, says what ssh says
// where it reaches nobody, and has printed nothing else is started again. After a signal
// (base/stop_signal.h) and after the time-out all are told so, and killed when they do not end in
// `grace`; after a signal Stopped is thrown then. SystemError when one cannot be started.
std::vector<FleetEnd> run_fleet(const std::vector<FleetProgram>& programs, const FleetRules& rules);

// The worst: the highest of all statuses.
int worst_status(const std::vector<FleetEnd>& ends);

}  // namespace smelt
