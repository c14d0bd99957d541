// A compiled program, whose devices may or may not be present on this machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pjrt/handle.h"
#include "pjrt/pjrt_abi_compile.h"

namespace smelt::pjrt {

// Memory of a program in bytes per device. Donated memory counts both as argument and as output;
// alias_bytes is its size.
struct CompiledMemory {
  std::int64_t code_bytes = 0;
  std::int64_t argument_bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t alias_bytes = 0;
  std::int64_t temporary_bytes = 0;
  std::int64_t peak_bytes = 0;  // 0 if the plugin does not report it
};

// Statistics and serialization of a compiled program.
class CompiledProgram {
 public:
  explicit CompiledProgram(Handle<pjrt_abi::ExecutableDestroy> handle)
      : handle_(std::move(handle)) {}

  std::size_t result_count() const;
  CompiledMemory memory() const;
  // Returns the cost analysis for one device by XLA's names, such as "flops" and "bytes accessed".
  std::map<std::string, double> cost() const;
  // Returns the plugin's serialized form, for Client::load().
  std::string serialize() const;
  // Returns the optimized program of one device: a serialized HloModuleProto of openxla/xla
  // (xla/service/hlo.proto).
  std::string optimized_module() const;

 private:
  Handle<pjrt_abi::ExecutableDestroy> handle_;
};

}  // namespace smelt::pjrt
