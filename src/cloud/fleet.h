// Runs one program for each worker of a machine in parallel and collects their output.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace smelt::cloud {

// A program to run for one worker.
struct FleetProgram {
  int worker = 0;
  std::vector<std::string> words;  // the command and its arguments; started without a shell
  // whether the program ends when its stdin is closed; if not (scp), it also gets TERM
  bool reads_input = true;
  // where this program's output goes; empty: FleetRules::out and FleetRules::err
  std::function<void(const std::string& text)> out = {}, err = {};
};

// How the programs of a fleet run.
struct FleetRules {
  std::chrono::milliseconds timeout{0};     // for the whole fleet; 0: none
  std::chrono::milliseconds grace{10'000};  // time from the request to end until SIGKILL
  int tries = 3;                            // attempts if ssh cannot reach the worker
  std::chrono::milliseconds between{5000};  // pause between attempts
  int at_once = 100;                        // maximum number of programs that run at once
  bool prefixed = true;  // put "[worker 3] " before each line; false: pass bytes through unchanged
  std::function<void(const std::string& text)> out, err;
};

// How a program ended.
struct FleetEnd {
  int worker = 0;
  int status = 0;       // exit status; 128 + signal number, or 124 after the timeout
  std::string why_not;  // ssh's error if it could not reach the worker, else ""
};

// Runs all programs and waits for them. Each program's stdin is a pipe, which is closed to request
// that the program end. A guarded_command() (cloud/ssh.h) ends when its stdin is closed. A program
// is started again if it exits with 255, ssh reported that it reached no server, and nothing else
// was printed. After the timeout or a signal (base/stop_signal.h) all programs are asked to end,
// and killed after `grace`; a signal then throws Stopped. Throws SystemError if a program cannot be
// started.
std::vector<FleetEnd> run_fleet(const std::vector<FleetProgram>& programs, const FleetRules& rules);

// Returns the highest exit status.
int worst_status(const std::vector<FleetEnd>& ends);

}  // namespace smelt::cloud
