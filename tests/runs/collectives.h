// The collective operations of a compiled program.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"
#include "pjrt/compiled_program.h"

namespace smelt {

struct Collective {
  // XLA's opcode. An all-reduce of which each device keeps only a part, which a TPU executes as one
  // operation, is a "reduce-scatter".
  std::string op;
  compiler::Dims dims;  // of the result; of a reduce-scatter: before the split
  int loops = 0;        // number of nested loops around it
  std::string dtype = "f32";

  auto operator<=>(const Collective&) const = default;
};

// Returns the distinct collectives, sorted. They are not counted, because a TPU's program may
// contain the same one several times (its start, the work that runs meanwhile, its end).
std::vector<Collective> collectives_of(const pjrt::CompiledProgram& program);

// Prints such as "all-gather f32 2x64 in 1 loops".
std::ostream& operator<<(std::ostream& out, const Collective& c);

}  // namespace smelt
