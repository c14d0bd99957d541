// Compilation for TPUs that are not here: what fits, and what it costs, before any is rented.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pjrt/compile_options.h"
#include "pjrt/compiled_program.h"

namespace smelt {

class Topology {
 public:
  // By libtpu's name, e.g. "v2:4x4", "v3:2x2", "v4:4x4x1", "v5e:2x4". PjrtError when it does not
  // know it. Loads libtpu (find_plugin("tpu")) so that it looks for no TPU: not for a process that
  // trains on one.
  static Topology tpu(const std::string& name);
  static Topology create(std::shared_ptr<const Plugin> plugin, const std::string& name);

  int device_count() const;
  std::string device_kind() const;  // "TPU v2"
  // In the order in which a client numbers devices.
  std::vector<int> device_ids() const;
  // For the first of its devices in that order, unless the options name others. PjrtError with code
  // resource_exhausted when it does not fit in the memory of the devices.
  CompiledProgram compile(std::string_view stablehlo, const CompileOptions& options) const;

 private:
  explicit Topology(Handle<pjrt::TopologyDescriptionDestroy> handle) : handle_(std::move(handle)) {}
  pjrt::TopologyDescriptionGetDeviceDescriptions descriptions() const;

  Handle<pjrt::TopologyDescriptionDestroy> handle_;
};

}  // namespace smelt
