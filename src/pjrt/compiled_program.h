// What the compiler made of a program, whether or not its devices are here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "pjrt/handle.h"
#include "pjrt/pjrt_abi_compile.h"

namespace smelt {

// Bytes on each device. Donated memory counts as argument and as output; `alias` is that share.
struct CompiledMemory {
  std::int64_t code_bytes = 0;
  std::int64_t argument_bytes = 0;
  std::int64_t output_bytes = 0;
  std::int64_t alias_bytes = 0;
  std::int64_t temporary_bytes = 0;
  std::int64_t peak_bytes = 0;  // 0: the plugin does not say
};

class CompiledProgram {
 public:
  explicit CompiledProgram(Handle<pjrt::ExecutableDestroy> handle) : handle_(std::move(handle)) {}

  std::size_t result_count() const;
  CompiledMemory memory() const;
  // By XLA's names, "flops" and "bytes accessed" among them; for one device.
  std::map<std::string, double> cost() const;
  std::string serialize() const;
  // What the compiler made of it: HloModuleProto of openxla/xla (xla/service/hlo.proto), of the
  // part that each device runs.
  std::string optimized_module() const;

 private:
  Handle<pjrt::ExecutableDestroy> handle_;
};

}  // namespace smelt
