// A server on the loopback that lives as long as this object: an emulator of an object store, or a
// fake one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace smelt {

// A port of 127.0.0.1 that nobody listens on, kept for this process and the servers that it starts.
int free_port();

class ServerProcess {
 public:
  // Runs `command`, whose output goes to the file `log`, and returns once 127.0.0.1:`port` accepts
  // connections. Fails a CHECK, with what was logged, when the server ends or does not listen
  // within a minute.
  ServerProcess(const std::vector<std::string>& command, int port, const std::string& log);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;

 private:
  ::pid_t pid_;
};

}  // namespace smelt
