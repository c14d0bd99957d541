// A pod of the stand-in for a test: its server, and processes that know it as their CPU or TPU.
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
  // `options` are the server's (distributed/stand_in/server.cpp).
  explicit Pod(const PodSize& size, const std::vector<std::string>& options = {});
  ~Pod();  // ends whoever still runs
  Pod(const Pod&) = delete;

  // Starts a command as one of the processes; it finds the stand-in as SMELT_CPU_PLUGIN and
  // SMELT_TPU_PLUGIN, and in POD_HUB where its hub is to be; words that are {hub} and {process} are
  // replaced by that and its number. Once at a time for each process.
  void start(int process, const std::vector<std::string>& command);
  // What start() sets for a process but POD_HUB.
  std::vector<std::pair<std::string, std::string>> variables(int process) const;
  // Waits for its end: the status as a shell gives it, 128 and more for a signal.
  int wait(int process);
  bool is_running(int process);
  ::pid_t pid(int process) const;
  void send(int process, int signal);
  // To the server, which is all devices.
  void send_to_devices(int signal) const;
  // What it has said since it was started, on both outputs.
  std::string said(int process) const;
  // A file or folder that the test may make.
  std::string file(const std::string& name) const { return dir_.file(name); }
  // Starts the command as all of them and waits.
  std::vector<int> run(const std::vector<std::string>& command);

 private:
  std::string log_of(int process) const;
  std::string socket() const { return dir_.file("pod"); }

  TempDir dir_;
  PodSize size_;
  ::pid_t server_;
  std::vector<::pid_t> processes_;
  std::string hub_;  // of those that run, for a hub of their own
};

}  // namespace smelt::distributed
