// Connects a process to the coordination server and waits until all ranks have joined.
#pragma once

#include <memory>
#include <vector>

#include "distributed/connection.h"
#include "distributed/coordination_service.h"
#include "distributed/handshake.h"

namespace smelt::distributed {

// The connection to the server and the handshakes of all ranks, by rank.
struct Joined {
  std::unique_ptr<Connection> connection;
  std::vector<Handshake> members;
  // Frames that arrived together with the welcome, such as the end of the run if another rank
  // failed at once. The caller handles them before it reads the connection.
  std::vector<Frame> frames = {};
};

// Joins over a socket that is already connected.
Joined join_over(int socket, const Handshake& own, const PodOptions& options);
// Joins over TCP and retries until the server is reachable or the timeout passes. Throws the same
// errors as CoordinationService::connect().
Joined join_at(const std::string& address, const Handshake& own, const PodOptions& options);

}  // namespace smelt::distributed
