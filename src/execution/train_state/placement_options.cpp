#include "execution/train_state/placement_options.h"

namespace smelt::execution {

pjrt::CompileOptions compile_options(const model::ShardingPlan& placement) {
  pjrt::CompileOptions options;
  const int devices = static_cast<int>(placement.devices);
  (placement.spread == model::Parallelism::replicas ? options.num_replicas
                                                    : options.num_partitions) = devices;
  return options;
}

}  // namespace smelt::execution
