// A server process on the loopback interface that lives as long as this object, such as an emulator
// of an object store.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace smelt {

// A free port of 127.0.0.1, reserved for this process and the servers that it starts.
int free_port();

class ServerProcess {
 public:
  // Runs `command`, with its output in the file `log`, and returns when 127.0.0.1:`port` accepts
  // connections. Fails a CHECK, with the log, if the server ends or does not listen within a
  // minute.
  ServerProcess(const std::vector<std::string>& command, int port, const std::string& log);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;

 private:
  ::pid_t pid_;
};

}  // namespace smelt
