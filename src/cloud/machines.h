// TPU machines are made and deleted, and waited for: no zone is left with one that nobody knows of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cloud/patience.h"
#include "cloud/tpu_api.h"

namespace smelt {

struct MachineRequest {
  std::string name;
  std::vector<std::string> zones;  // tried in this order
  NodeSpec spec;
};

// The node, READY, in the first zone that has capacity and quota for it. One that was not answered
// for is looked for by its name, and never asked for twice. UsageError when one of this name is in
// any of the zones, and for what no zone can mend; SystemError "cloud: …" when no zone has it, with
// what each said. When it ends otherwise while a node may be coming up, the message says where.
TpuNode bring_up(TpuApi& tpu, const std::string& project, const MachineRequest& request,
                 const Patience& patience);

// Puts it in the queue of its zone, which must be one. Errors as bring_up().
void enqueue(TpuApi& tpu, const std::string& project, const MachineRequest& request,
             const QueueSpec& queue, const Patience& patience);

// The node, READY, that is being made or stands in the queue; for as long as that takes and
// patience.at_most. SystemError "cloud: …" when nothing comes of it; UsageError when there is no
// such node and none in the queue.
TpuNode wait_for_machine(TpuApi& tpu, const std::string& zone, const std::string& name,
                         const Patience& patience);

// Where a machine is, or waits for its turn.
struct Found {
  std::optional<TpuNode> node;
  std::optional<TpuQueued> queued;
  std::string zone() const { return node ? node->zone : queued->zone; }
};
// All of this name in the project, by zone.
struct Everywhere {
  std::map<std::string, Found> by_zone;
  std::vector<std::string> unreachable;  // zones that did not answer
};
Everywhere find_everywhere(TpuApi& tpu, const std::string& name);
// `zone` may be kAllZones. UsageError when there is none of this name, and when there are several.
Found find_machine(TpuApi& tpu, const std::string& zone, const std::string& name);

// Starts or stops ("start", "stop") a node and waits for its end.
void finish_switch(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const std::string& verb, const Patience& patience);

// Until there is none of this name, neither a node nor one in the queue. False when there was none.
bool take_down(TpuApi& tpu, const std::string& project, const std::string& zone,
               const std::string& name, const Patience& patience);

}  // namespace smelt
