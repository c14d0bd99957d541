// A process's way to the hub: connected, its hello said, waiting until all have come.
#pragma once

#include <memory>
#include <vector>

#include "pod/connection.h"
#include "pod/hello.h"
#include "pod/hub.h"

namespace smelt {

// Who all are, by rank, and the connection over which frames go from now on.
struct Joined {
  std::unique_ptr<Connection> connection;
  std::vector<Hello> members;
};

// Over an open socket, to a hub that is there.
Joined join_over(int socket, const Hello& own, const PodOptions& options);
// Over TCP; tries until the hub is there. Errors as Hub::connect has them.
Joined join_at(const std::string& address, const Hello& own, const PodOptions& options);

}  // namespace smelt
