// TPU machines are made and deleted, and waited for: no zone is left with one that nobody knows of.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "cloud/tpu_api.h"

namespace smelt {

struct MachineRequest {
  std::string name;
  std::vector<std::string> zones;  // tried in this order
  NodeSpec spec;
};

// How waiting is done and told.
struct Patience {
  std::function<void(std::chrono::milliseconds)> wait;
  std::function<void(const std::string& line)> tell;
  std::chrono::milliseconds at_most{std::chrono::minutes(30)};  // for each operation
};

// Sleeps; Stopped after a signal (base/stop_signal.h).
void wait_or_stop(std::chrono::milliseconds time);

// The node, READY, in the first zone that has capacity and quota for it. One that was not answered
// for is looked for by its name, and never asked for twice. UsageError when one of this name is in
// any of the zones, and for what no zone can mend; SystemError "cloud: …" when no zone has it, with
// what each said. When it ends otherwise while a node may be coming up, the message says where.
TpuNode bring_up(TpuApi& tpu, const std::string& project, const MachineRequest& request,
                 const Patience& patience);

// Until there is none of this name. False when there was none.
bool take_down(TpuApi& tpu, const std::string& project, const std::string& zone,
               const std::string& name, const Patience& patience);

}  // namespace smelt
