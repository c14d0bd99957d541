// The distribution of a sharded state over processes.
#pragma once

#include <vector>

#include "checkpoint/storage/file_plan.h"
#include "model/train_step/sharding_plan.h"
#include "model/train_step/state_layout.h"
#include "pjrt/client.h"

namespace smelt::execution {

// Returns the slices of all saved tensors on all processes, with the names and bounds that they
// have in HostState::tensors. OwnedSlice::holders are the processes that have the slice, as the
// client numbers them (Client::process_of()). The result is the same on every process.
std::vector<checkpoint::OwnedSlice> held_slices(const model::StateLayout& layout,
                                                const model::ShardingPlan& placement,
                                                const pjrt::Client& client);

}  // namespace smelt::execution
