// Compile options: CompileOptionsProto of openxla/xla (xla/pjrt/proto/compile_options.proto).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pjrt/pjrt_abi_compile.h"

namespace smelt::pjrt {

// Options of one compilation.
struct CompileOptions {
  int num_replicas = 1;
  int num_partitions = 1;  // devices over which a sharded program is split
  bool use_shardy = true;
  // The plugin's device id for each replica and partition, at index replica * num_partitions +
  // partition. Empty: 0, 1, …
  std::vector<int> device_ids = {};
  // XLA debug options for this program, for example {"xla_cpu_enable_fast_math", "true"}.
  std::vector<std::pair<std::string, std::string>> overrides;
};

// Returns the options with the overrides that every program on this platform ("cpu", "tpu", …)
// needs, placed before the overrides that the options have already.
CompileOptions with_platform_overrides(CompileOptions options, std::string_view platform);

// Returns the serialized CompileOptionsProto.
std::string serialize(const CompileOptions& options);

// Describes a module in StableHLO text form. The result points into `stablehlo`.
pjrt_abi::Program stablehlo_program(std::string_view stablehlo);

}  // namespace smelt::pjrt
