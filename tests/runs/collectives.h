// What devices say to one another in a compiled program.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"
#include "pjrt/compiled_program.h"

namespace smelt {

struct Collective {
  // XLA's word; an all-reduce of which only a part is kept, which a TPU does at once, is a
  // "reduce-scatter".
  std::string op;
  compiler::Dims dims;  // of the result; of a reduce-scatter: before it is cut
  int loops = 0;        // how many loops it stands in
  std::string dtype = "f32";

  auto operator<=>(const Collective&) const = default;
};

// Each once, in order: a TPU's program may hold the same one in several copies (its start, what
// runs meanwhile, its end), so how often it stands there says nothing.
std::vector<Collective> collectives_of(const pjrt::CompiledProgram& program);

// "all-gather f32 2x64 in 1 loops"
std::ostream& operator<<(std::ostream& out, const Collective& c);

}  // namespace smelt
