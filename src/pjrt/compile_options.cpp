#include "pjrt/compile_options.h"

#include "io/formats/wire.h"

namespace smelt::pjrt {

CompileOptions with_platform_overrides(CompileOptions options, std::string_view platform) {
  if (platform != "cpu") return options;
  const std::vector<std::pair<std::string, std::string>> needed{
      // XNNPACK caches the packed form of a weight by its buffer address. After an in-place update
      // it would still use the old values.
      {"xla_cpu_use_xnnpack", "false"},
      // The pass splits every reduction over more than 32 elements in two and materializes its
      // input in between (docs/explanation/performance-history.md).
      {"xla_disable_hlo_passes", "tree_reduction_rewriter"},
  };
  options.overrides.insert(options.overrides.begin(), needed.begin(), needed.end());
  return options;
}

static int id_of_place(const CompileOptions& options, int place) {
  return options.device_ids.empty() ? place
                                    : options.device_ids.at(static_cast<std::size_t>(place));
}

// Returns a DeviceAssignmentProto: replica r of partition p runs on device r * partitions + p. The
// TPU client's default order would follow the chips' interconnect instead.
static io::WireWriter device_assignment(const CompileOptions& options) {
  io::WireWriter out;
  out.integer(1, options.num_replicas);
  out.integer(2, options.num_partitions);
  for (int partition = 0; partition < options.num_partitions; ++partition) {
    io::WireWriter devices;
    for (int replica = 0; replica < options.num_replicas; ++replica)
      devices.integer(1, id_of_place(options, replica * options.num_partitions + partition));
    out.message(3, devices);
  }
  return out;
}

std::string serialize(const CompileOptions& options) {
  io::WireWriter build;  // ExecutableBuildOptionsProto
  build.integer(1, -1);  // device_ordinal: unspecified
  build.integer(4, options.num_replicas);
  build.integer(5, options.num_partitions);
  build.varint(6, options.num_partitions > 1);  // use_spmd_partitioning
  // A single device defaults to device 0.
  if (options.num_replicas * options.num_partitions > 1 || id_of_place(options, 0) != 0)
    build.message(9, device_assignment(options));
  build.varint(19, options.use_shardy);  // use_shardy_partitioner
  io::WireWriter out;
  out.message(3, build);  // executable_build_options
  for (const auto& [name, value] : options.overrides) {
    io::WireWriter override_value;
    if (value == "true" || value == "false") {
      override_value.varint(2, value == "true");  // bool_field: XLA does not parse these as text
    } else {
      override_value.bytes(1, value);  // string_field: parsed by the type of the option
    }
    io::WireWriter entry;
    entry.bytes(1, name);
    entry.message(2, override_value);
    out.message(7, entry);  // env_option_overrides
  }
  return out.take();
}

pjrt_abi::Program stablehlo_program(std::string_view stablehlo) {
  static constexpr std::string_view kFormat = "mlir";
  pjrt_abi::Program out{};
  out.struct_size = pjrt_abi::struct_size<pjrt_abi::Program>();
  out.code = stablehlo.data();
  out.code_size = stablehlo.size();
  out.format = kFormat.data();
  out.format_size = kFormat.size();
  return out;
}

}  // namespace smelt::pjrt
