// How a program is to be compiled: CompileOptionsProto of openxla/xla
// (xla/pjrt/proto/compile_options.proto).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pjrt/pjrt_abi_compile.h"

namespace smelt {

struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;  // devices that the sharded program is split over
  bool use_shardy = true;
  // Which device of the plugin's each replica and partition runs on, by
  // replica * num_partitions + partition; empty: 0, 1, …
  std::vector<int> device_ids = {};
  // XLA's debug options for this program alone, e.g. {"xla_cpu_enable_fast_math", "true"}.
  std::vector<std::pair<std::string, std::string>> overrides;
};

// With what every program compiled for a platform ("cpu", "tpu", …) needs, before its own
// overrides.
CompileOptions with_platform_overrides(CompileOptions options, std::string_view platform);

std::string serialize(const CompileOptions& options);

// The description of a module in StableHLO's text form; points into `stablehlo`.
pjrt::Program stablehlo_program(std::string_view stablehlo);

}  // namespace smelt
