// A simulated pod for a test: its server, and processes that use the stand-in as their CPU or TPU.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "support/paths.h"

namespace smelt::distributed {

struct PodSize {
  int processes = 2, devices_each = 2;
};

class Pod {
 public:
  // `options` are options of the server (distributed/stand_in/server.cpp).
  explicit Pod(const PodSize& size, const std::vector<std::string>& options = {});
  ~Pod();  // kills all processes that still run
  Pod(const Pod&) = delete;

  // Starts a command as one of the processes. Its variables SMELT_CPU_PLUGIN and SMELT_TPU_PLUGIN
  // name the stand-in, and POD_HUB is the address for its hub. The arguments {hub} and {process}
  // are replaced by this address and by the number of the process. Call wait() before the process
  // is started again.
  void start(int process, const std::vector<std::string>& command);
  // Returns the variables that start() sets for a process, except POD_HUB.
  std::vector<std::pair<std::string, std::string>> variables(int process) const;
  // Waits until the process ends. Returns its status as a shell does: 128 plus the signal, if it
  // was killed by one.
  int wait(int process);
  bool is_running(int process);
  ::pid_t pid(int process) const;
  void send(int process, int signal);
  // Sends a signal to the server, which simulates all devices.
  void send_to_devices(int signal) const;
  // Returns the output of the process since its start, both stdout and stderr.
  std::string said(int process) const;
  // Returns the path of a file or folder that the test may create.
  std::string file(const std::string& name) const { return dir_.file(name); }
  // Starts the command as every process, waits, and returns their statuses.
  std::vector<int> run(const std::vector<std::string>& command);

 private:
  std::string log_of(int process) const;
  std::string socket() const { return dir_.file("pod"); }

  TempDir dir_;
  PodSize size_;
  ::pid_t server_;
  std::vector<::pid_t> processes_;
  std::string hub_;  // address for the hub of the running processes; empty if none runs
};

}  // namespace smelt::distributed
