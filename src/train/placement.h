// How a step is spread over devices: the one place where training chooses by platform.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/graph.h"
#include "runtime/compile_options.h"

namespace smelt {

// Where the loss is normalised and the gradient clipped when several devices share a batch.
//   global       one loss over the whole batch; the clip sees the gradient of all devices (default)
//   per_replica  the original BERT's order: each device normalises its own loss and clips its own
//                gradient, then the gradients are summed (not averaged) over the devices
enum class Reduction { global, per_replica };

enum class Spread {
  mesh,      // one program over all devices; XLA's partitioner places the collectives
  replicas,  // a program a device, with collectives of our own
};

struct Placement {
  std::int64_t devices = 1;
  Spread spread = Spread::mesh;
  // Sums over replicas are added in the replicas' order, the same bits every time. Else by the
  // platform's own all-reduce.
  bool ordered_sums = false;

  std::int64_t replicas() const { return spread == Spread::replicas ? devices : 1; }
};

// The CPU plugin's all-reduce adds in order of arrival, so there a batch is shared by replicas with
// ordered sums; elsewhere by a mesh, unless the reduction is per replica.
Placement placement_for(std::string_view platform, std::int64_t devices, Reduction reduction);

CompileOptions compile_options(const Placement& placement);

// The sum of each replica's x; on one replica x itself.
Tensor sum_over_replicas(Tensor x, const Placement& placement);

}  // namespace smelt
