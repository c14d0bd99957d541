// Compiles programs for TPUs that are not present, to find out what fits and what it costs before
// renting one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pjrt/compile_options.h"
#include "pjrt/compiled_program.h"

namespace smelt::pjrt {

// A TPU topology to compile for.
class Topology {
 public:
  // Creates a topology by libtpu's name, for example "v2:4x4", "v3:2x2", "v4:4x4x1", "v5e:2x4".
  // Throws PjrtError if libtpu does not know the name. Loads libtpu from find_plugin("tpu") in a
  // mode without TPU access, so do not use it in a process that trains on a TPU.
  static Topology tpu(const std::string& name);
  static Topology create(std::shared_ptr<const Plugin> plugin, const std::string& name);

  int device_count() const;
  std::string device_kind() const;  // "TPU v2"
  // Returns the device ids in the order in which a client numbers its devices.
  std::vector<int> device_ids() const;
  // Compiles for the first devices in the order of device_ids(), or for CompileOptions::device_ids
  // if that is set. Throws PjrtError with code resource_exhausted if the program does not fit in
  // the devices' memory.
  CompiledProgram compile(std::string_view stablehlo, const CompileOptions& options) const;

 private:
  explicit Topology(Handle<pjrt_abi::TopologyDescriptionDestroy> handle)
      : handle_(std::move(handle)) {}
  pjrt_abi::TopologyDescriptionGetDeviceDescriptions descriptions() const;

  Handle<pjrt_abi::TopologyDescriptionDestroy> handle_;
};

}  // namespace smelt::pjrt
