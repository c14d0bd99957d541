// The distribution of a sharded state over processes.
#pragma once

#include <vector>

#include "checkpoint/storage/file_plan.h"
#include "model/train_step/sharding_plan.h"
#include "model/train_step/state_layout.h"
#include "pjrt/client.h"

namespace smelt::execution {

// Returns every slice of every saved tensor, with the client's indices of the processes that hold
// it. The slices are those of HostState. Every process gets the same result.
std::vector<checkpoint::OwnedSlice> held_slices(const model::StateLayout& layout,
                                                const model::ShardingPlan& placement,
                                                const pjrt::Client& client);

}  // namespace smelt::execution
