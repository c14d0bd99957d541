// A process's way to the hub: connected, its hello said, waiting until all have come.
#pragma once

#include <memory>
#include <vector>

#include "distributed/connection.h"
#include "distributed/coordination_service.h"
#include "distributed/handshake.h"

namespace smelt {

// Who all are, by rank, and the connection over which frames go from now on.
struct Joined {
  std::unique_ptr<Connection> connection;
  std::vector<Handshake> members;
};

// Over an open socket, to a hub that is there.
Joined join_over(int socket, const Handshake& own, const PodOptions& options);
// Over TCP; tries until the hub is there. Errors as CoordinationService::connect has them.
Joined join_at(const std::string& address, const Handshake& own, const PodOptions& options);

}  // namespace smelt
