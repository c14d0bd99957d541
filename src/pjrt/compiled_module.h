// The program that a compiler made, as far as its figures are asked for: HloModuleProto of
// openxla/xla (xla/service/hlo.proto, xla/xla_data.proto).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt {

struct HloResult {
  Dims dims;
  std::string dtype;     // XLA's word: "f32", "bf16", "s32", …; "other" for what is no array
  bool on_core = false;  // in a TPU core's own memory, not in HBM
  std::int64_t bytes() const;
};

struct HloInstruction {
  std::string name, opcode;
  std::string op_name;                         // of the program before compilation
  std::vector<HloResult> results;              // more than one of a tuple
  std::vector<std::int64_t> operands, called;  // ids; of a while: its body, then its condition
  std::int64_t id = 0;
  std::string backend_config;          // JSON, the compiler's own
  std::vector<std::int64_t> constant;  // the elements of a constant of s32
  // Of a collective: who tells whom, devices by their numbers in the program. Empty: all do.
  std::vector<std::vector<std::int64_t>> groups{};
};

struct HloComputation {
  std::string name;
  std::int64_t id = 0;
  std::vector<HloInstruction> instructions;
};

struct HloModule {
  std::map<std::int64_t, HloComputation> computations;  // by their ids
  std::int64_t entry = 0;

  const HloComputation& at(std::int64_t id) const;
};

// Of HloModuleProtoWithConfig, as CompiledProgram::optimized_module() gives it. UsageError for
// bytes that are none.
HloModule read_hlo_module(std::string_view bytes);

// How often a while's body runs, where its condition compares a counter from 0 on with a constant;
// 1 for another form.
std::int64_t turns_of(const HloModule& module, const HloInstruction& loop);

}  // namespace smelt
