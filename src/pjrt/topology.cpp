#include "pjrt/topology.h"

#include <algorithm>
#include <cstdlib>

#include "pjrt/device_facts.h"
#include "pjrt/find_plugin.h"

namespace smelt::pjrt {
namespace {

// Sets environment variables that libtpu reads when it is loaded. Values set by the user are kept.
void prepare_libtpu() {
  constexpr int kKeep = 0;
  // otherwise it queries the metadata server for minutes
  ::setenv("TPU_SKIP_MDS_QUERY", "1", kKeep);
  ::setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1", kKeep);  // otherwise only one process per machine
  ::setenv("TPU_MIN_LOG_LEVEL", "3", kKeep);
  ::setenv("TPU_STDERR_LOG_LEVEL", "3", kKeep);
  ::setenv("TPU_LOG_DIR", "disabled", kKeep);
  // Any valid values suppress warnings that this host is not part of a TPU.
  ::setenv("TPU_WORKER_HOSTNAMES", "localhost", kKeep);
  ::setenv("TPU_ACCELERATOR_TYPE", "v2-8", kKeep);
}

// Returns the libtpu option that combines the two cores of a v4 chip into one device (megacore), as
// on real machines. Without it libtpu compiles for each core as a separate device.
pjrt_abi::NamedValue megacore() {
  constexpr std::string_view kName = "chip_config_name", kValue = "megacore";
  pjrt_abi::NamedValue out{};
  out.struct_size = pjrt_abi::struct_size<pjrt_abi::NamedValue>();
  out.name = kName.data();
  out.name_size = kName.size();
  out.type = pjrt_abi::ValueType::text;
  out.string_value = kValue.data();
  out.value_size = kValue.size();
  return out;
}

}  // namespace

Topology Topology::tpu(const std::string& name) {
  const std::string path = find_plugin("tpu");
  prepare_libtpu();
  return create(Plugin::load(path), name);
}

Topology Topology::create(std::shared_ptr<const Plugin> plugin, const std::string& name) {
  pjrt_abi::TopologyDescriptionCreate args{};
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  const pjrt_abi::NamedValue one_device_per_chip = megacore();
  if (name.starts_with("v4:")) {
    args.create_options = &one_device_per_chip;
    args.num_options = 1;
  }
  pjrt_abi::TopologyDescription* raw = plugin->call(args).topology;
  return Topology(Handle<pjrt_abi::TopologyDescriptionDestroy>(std::move(plugin), raw));
}

pjrt_abi::TopologyDescriptionGetDeviceDescriptions Topology::descriptions() const {
  pjrt_abi::TopologyDescriptionGetDeviceDescriptions args{};
  args.topology = handle_.raw();
  return handle_.plugin().call(args);
}

int Topology::device_count() const { return static_cast<int>(descriptions().num_descriptions); }

std::string Topology::device_kind() const {
  const auto all = descriptions();
  CHECK(all.num_descriptions > 0);
  pjrt_abi::DeviceDescriptionKind kind{};
  kind.device_description = all.descriptions[0];
  kind = handle_.plugin().call(kind);
  return {kind.device_kind, kind.device_kind_size};
}

std::vector<int> Topology::device_ids() const {
  const auto all = descriptions();
  std::vector<DeviceFacts> devices;
  for (std::size_t i = 0; i < all.num_descriptions; ++i)
    devices.push_back(facts_of(handle_.plugin(), all.descriptions[i]));
  std::ranges::sort(devices, {}, &DeviceFacts::order);
  std::vector<int> out;
  for (const DeviceFacts& device : devices) out.push_back(device.id);
  return out;
}

CompiledProgram Topology::compile(std::string_view stablehlo, const CompileOptions& given) const {
  const pjrt_abi::Program program = stablehlo_program(stablehlo);
  CompileOptions options = given;
  const int devices = options.num_replicas * options.num_partitions;
  if (devices > 1 && options.device_ids.empty())
    if (const std::vector<int> ids = device_ids(); std::ssize(ids) >= devices)
      options.device_ids.assign(ids.begin(), ids.begin() + devices);
  const std::string serialized = serialize(options);
  pjrt_abi::Compile args{};
  args.topology = handle_.raw();
  args.program = &program;
  args.compile_options = serialized.data();
  args.compile_options_size = serialized.size();
  return CompiledProgram({handle_.shared_plugin(), handle_.plugin().call(args).executable});
}

}  // namespace smelt::pjrt
