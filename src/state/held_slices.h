// Which processes hold which parts of a state.
#pragma once

#include <vector>

#include "checkpoint/file_plan.h"
#include "runtime/client.h"
#include "step/placement.h"
#include "step/state_layout.h"

namespace smelt {

// All slices of all that is saved, as HostState has a process's own of them, with the client's
// numbers of the processes. The same on all of these.
std::vector<HeldSlice> held_slices(const StateLayout& layout, const Placement& placement,
                                   const Client& client);

}  // namespace smelt
