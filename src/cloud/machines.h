// Creates and deletes TPU machines and waits for them. If an error leaves a machine behind, its
// message names the machine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloud/retry_budget.h"
#include "cloud/tpu_api.h"

namespace smelt::cloud {

// A machine to create.
struct MachineRequest {
  std::string name;
  std::vector<std::string> zones;  // tried in this order
  NodeSpec spec;
};

// Creates the node in the first zone that has its type, capacity and quota for it, waits until it
// is READY and returns it. A request that gets no response is not sent again; the node is looked up
// by its name instead. Keeps waiting while the server does not respond. Throws UsageError if a node
// of this name exists in any of the zones, or if every zone refuses the request; SystemError
// "cloud: …" with each zone's reason if no zone has it. Any error while a node may be coming up
// names the command that deletes it.
TpuNode bring_up(TpuApi& tpu, const std::string& project, const MachineRequest& request,
                 const Patience& patience);

// Puts the request in the queue of its only zone. Throws the same errors as bring_up().
void enqueue(TpuApi& tpu, const std::string& project, const MachineRequest& request,
             const QueueSpec& queue, const Patience& patience);

// Waits until the node that is being created or queued is READY, at most patience.at_most, and
// returns it. Keeps waiting while the server does not respond. Throws SystemError "cloud: …" if the
// node does not become READY; UsageError if there is neither a node nor a queued resource of this
// name. Any other error names the commands that wait again and that delete it.
TpuNode wait_for_machine(TpuApi& tpu, const std::string& zone, const std::string& name,
                         const Patience& patience);

// The node or queued resource of a machine.
struct Found {
  std::optional<TpuNode> node;
  std::optional<TpuQueued> queued;
  std::string zone() const { return node ? node->zone : queued->zone; }
};
// All resources of one name in the project, by zone.
struct ResourcesByZone {
  std::map<std::string, Found> by_zone;
  std::vector<std::string> unreachable;  // zones that did not respond
};
ResourcesByZone find_everywhere(TpuApi& tpu, const std::string& name);
// Finds a machine; `zone` may be kAllZones. Throws UsageError unless exactly one machine has this
// name.
Found find_machine(TpuApi& tpu, const std::string& zone, const std::string& name);

// Starts or stops a node (`verb` is "start" or "stop") and waits until the operation has ended.
// Keeps waiting while the server does not respond.
void finish_switch(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const std::string& verb, const Patience& patience);

// Deletes the node or queued resource of this name and waits until it is gone. Keeps waiting while
// the server does not respond. Returns false if it did not exist. Errors name the command to
// repeat.
bool take_down(TpuApi& tpu, const std::string& project, const std::string& zone,
               const std::string& name, const Patience& patience);

}  // namespace smelt::cloud
