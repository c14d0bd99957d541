// Real OpenSSH servers on the loopback interface, which stand in for the workers of a machine. Each
// has its own address, port and host key. They accept the user keys in the machine's metadata.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "support/paths.h"
#include "support/server_process.h"

namespace smelt::cloud {

// Returns the path of sshd, or "" if it is not installed.
std::string ssh_server_program();

class SshServers {
 public:
  // Returns the environment of a worker's commands in the form "NAME=value NAME=value".
  using Environment = std::function<std::string(int worker)>;
  explicit SshServers(int count = 4, Environment environment = {});

  // Returns the internal and external address of each worker, in the form of FakeTpu::addresses.
  std::vector<std::pair<std::string, std::string>> addresses() const;
  // Returns the host key and host name of each worker, in the form of FakeTpu::host_keys.
  std::vector<std::map<std::string, std::string>> host_keys() const;
  // Returns the path of an ssh configuration file with the port of each address.
  std::string config() const { return dir_.file("config"); }
  // Accepts the user keys in the metadata from now on, like the guest agent of each worker.
  void take(const Json& metadata) const;
  void restart_with_another_key(int worker);
  void stop(int worker) { servers_[static_cast<std::size_t>(worker)].reset(); }

 private:
  std::string address(int worker) const;
  void start(int worker);
  void make_key(int worker) const;

  const Environment environment_;
  TempDir dir_;
  std::vector<int> ports_;
  std::vector<std::unique_ptr<ServerProcess>> servers_;
};

}  // namespace smelt::cloud
