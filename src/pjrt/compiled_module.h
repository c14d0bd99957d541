// A compiled program as read for statistics: the parts of HloModuleProto that smelt uses
// (openxla/xla: xla/service/hlo.proto, xla/xla_data.proto).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt::pjrt {

// One array result of an instruction.
struct HloResult {
  compiler::Dims dims;
  std::string dtype;     // XLA's name: "f32", "bf16", "s32", …; "other" if it is not an array
  bool on_core = false;  // in the memory of the TPU core (VMEM), not in HBM
  std::int64_t bytes() const;
};

// One instruction of the compiled program.
struct HloInstruction {
  std::string name, opcode;
  std::string op_name;                         // op name in the program before compilation
  std::vector<HloResult> results;              // several if the instruction returns a tuple
  std::vector<std::int64_t> operands, called;  // ids; for a while loop: body, then condition
  std::int64_t id = 0;
  std::string backend_config;          // compiler-specific JSON
  std::vector<std::int64_t> constant;  // elements of an s32 constant
  // The device groups of a collective, by device number in the program. Empty: all devices.
  std::vector<std::vector<std::int64_t>> groups{};
};

// A function of the compiled program.
struct HloComputation {
  std::string name;
  std::int64_t id = 0;
  std::vector<HloInstruction> instructions;
};

// The whole compiled program.
struct HloModule {
  std::map<std::int64_t, HloComputation> computations;  // by id
  std::int64_t entry = 0;

  // Throws UsageError if there is no such computation.
  const HloComputation& at(std::int64_t id) const;
};

// Parses a HloModuleProtoWithConfig from CompiledProgram::optimized_module(). Throws UsageError if
// the bytes contain no module.
HloModule read_hlo_module(std::string_view bytes);

// Returns the trip count of a while loop whose condition compares a counter, starting at 0, with a
// constant; 1 for other loops.
std::int64_t trip_count(const HloModule& module, const HloInstruction& loop);

}  // namespace smelt::pjrt
