// Which processes hold which parts of a state.
#pragma once

#include <vector>

#include "checkpoint/storage/file_plan.h"
#include "model/train_step/sharding_plan.h"
#include "model/train_step/state_layout.h"
#include "pjrt/client.h"

namespace smelt {

// All slices of all that is saved, as HostState has a process's own of them, with the client's
// numbers of the processes. The same on all of these.
std::vector<HeldSlice> held_slices(const StateLayout& layout, const ShardingPlan& placement,
                                   const Client& client);

}  // namespace smelt
