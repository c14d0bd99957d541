#include "pjrt/compile_options.h"

#include "io/formats/wire.h"

namespace smelt {

CompileOptions with_platform_overrides(CompileOptions options, std::string_view platform) {
  if (platform != "cpu") return options;
  const std::vector<std::pair<std::string, std::string>> needed{
      // XNNPACK keeps the packed form of a weight by the address of its buffer: a weight that is
      // updated in place would go on being multiplied with its first values.
      {"xla_cpu_use_xnnpack", "false"},
      // The pass cuts every reduction over more than 32 elements in two and writes its input out in
      // between (docs/explanation/performance.md).
      {"xla_disable_hlo_passes", "tree_reduction_rewriter"},
  };
  options.overrides.insert(options.overrides.begin(), needed.begin(), needed.end());
  return options;
}

static int id_of_place(const CompileOptions& options, int place) {
  return options.device_ids.empty() ? place
                                    : options.device_ids.at(static_cast<std::size_t>(place));
}

// DeviceAssignmentProto: replica r of partition p runs on device r * partitions + p, the order in
// which callers list devices. A TPU client's own choice would follow how the chips are wired.
static WireWriter device_assignment(const CompileOptions& options) {
  WireWriter out;
  out.integer(1, options.num_replicas);
  out.integer(2, options.num_partitions);
  for (int partition = 0; partition < options.num_partitions; ++partition) {
    WireWriter devices;
    for (int replica = 0; replica < options.num_replicas; ++replica)
      devices.integer(1, id_of_place(options, replica * options.num_partitions + partition));
    out.message(3, devices);
  }
  return out;
}

std::string serialize(const CompileOptions& options) {
  WireWriter build;      // ExecutableBuildOptionsProto
  build.integer(1, -1);  // device_ordinal: not one device in particular
  build.integer(4, options.num_replicas);
  build.integer(5, options.num_partitions);
  build.varint(6, options.num_partitions > 1);  // use_spmd_partitioning
  // One device is device 0 unless it is said.
  if (options.num_replicas * options.num_partitions > 1 || id_of_place(options, 0) != 0)
    build.message(9, device_assignment(options));
  build.varint(19, options.use_shardy);  // use_shardy_partitioner
  WireWriter out;
  out.message(3, build);  // executable_build_options
  for (const auto& [name, value] : options.overrides) {
    WireWriter override_value;
    if (value == "true" || value == "false") {
      override_value.varint(2, value == "true");  // bool_field: XLA parses no such text
    } else {
      override_value.bytes(1, value);  // string_field: parsed by the option's type
    }
    WireWriter entry;
    entry.bytes(1, name);
    entry.message(2, override_value);
    out.message(7, entry);  // env_option_overrides
  }
  return out.take();
}

pjrt::Program stablehlo_program(std::string_view stablehlo) {
  static constexpr std::string_view kFormat = "mlir";
  pjrt::Program out{};
  out.struct_size = pjrt::struct_size<pjrt::Program>();
  out.code = stablehlo.data();
  out.code_size = stablehlo.size();
  out.format = kFormat.data();
  out.format_size = kFormat.size();
  return out;
}

}  // namespace smelt
