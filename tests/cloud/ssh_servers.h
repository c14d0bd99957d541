// Four real servers of OpenSSH on the loopback, each with an address, a port and a key of its own:
// the workers of a machine. They let in whom the machine's metadata names.
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

// "" where the machine has none.
std::string ssh_server_program();

class SshServers {
 public:
  // "NAME=value NAME=value" of all that is run on a worker.
  using Environment = std::function<std::string(int worker)>;
  explicit SshServers(int count = 4, Environment environment = {});

  // Of each worker, as a node has them: internal and external.
  std::vector<std::pair<std::string, std::string>> addresses() const;
  // As the workers tell them.
  std::vector<std::map<std::string, std::string>> host_keys() const;
  // For ssh: which port belongs to which address.
  std::string config() const { return dir_.file("config"); }
  // What the agent on each worker does with new metadata.
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
