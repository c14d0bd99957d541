// The distribution of a sharded state over processes.
#pragma once

#include <vector>

#include "checkpoint/storage/file_plan.h"
#include "model/train_step/sharding_plan.h"
#include "model/train_step/state_layout.h"
#include "pjrt/client.h"

namespace smelt::execution {

// Returns all slices of all saved tensors over all processes, in the form of HostState, each with
// the client's indices of the processes that hold it. The result is the same on every process.
std::vector<checkpoint::OwnedSlice> held_slices(const model::StateLayout& layout,
                                                const model::ShardingPlan& placement,
                                                const pjrt::Client& client);

}  // namespace smelt::execution
