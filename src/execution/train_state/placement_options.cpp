#include "execution/train_state/placement_options.h"

namespace smelt {

CompileOptions compile_options(const ShardingPlan& placement) {
  CompileOptions options;
  const int devices = static_cast<int>(placement.devices);
  (placement.spread == Parallelism::replicas ? options.num_replicas : options.num_partitions) =
      devices;
  return options;
}

}  // namespace smelt
