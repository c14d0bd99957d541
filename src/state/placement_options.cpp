#include "state/placement_options.h"

namespace smelt {

CompileOptions compile_options(const Placement& placement) {
  CompileOptions options;
  const int devices = static_cast<int>(placement.devices);
  (placement.spread == Spread::replicas ? options.num_replicas : options.num_partitions) = devices;
  return options;
}

}  // namespace smelt
