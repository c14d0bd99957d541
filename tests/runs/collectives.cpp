#include "runs/collectives.h"

#include <ostream>
#include <set>

#include "pjrt/compiled_module.h"

namespace smelt {
namespace {

void add(const pjrt::HloModule& module, std::int64_t id, int loops, std::set<Collective>& out) {
  static const std::set<std::string> kOps{"all-gather", "all-reduce", "all-to-all",
                                          "collective-permute", "reduce-scatter"};
  const pjrt::HloComputation& c = module.at(id);
  const bool cut = c.name.starts_with("all-reduce-scatter");
  for (const pjrt::HloInstruction& i : c.instructions) {
    std::string op = i.opcode;
    if (op.ends_with("-start")) op.resize(op.size() - 6);
    if (kOps.contains(op))
      for (const pjrt::HloResult& r : i.results)
        out.insert({cut && op == "all-reduce" ? "reduce-scatter" : op, r.dims, loops, r.dtype});
    for (const std::int64_t called : i.called) add(module, called, loops + (op == "while"), out);
  }
}

}  // namespace

std::vector<Collective> collectives_of(const pjrt::CompiledProgram& program) {
  const pjrt::HloModule module = pjrt::read_hlo_module(program.optimized_module());
  std::set<Collective> found;
  add(module, module.entry, 0, found);
  return {found.begin(), found.end()};
}

std::ostream& operator<<(std::ostream& out, const Collective& c) {
  out << c.op << " " << c.dtype << " ";
  for (std::size_t i = 0; i < c.dims.size(); ++i) out << (i == 0 ? "" : "x") << c.dims[i];
  return out << " in " << c.loops << " loops";
}

}  // namespace smelt
