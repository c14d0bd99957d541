#include "train/program_cost.h"

#include "base/number_format.h"
#include "base/progress.h"

namespace smelt::train {
namespace {

void put(evaluation::Record& out, const char* name, double value) {
  if (value > 0) out[name] = value;
}

// Ignores errors of plugins that do not provide an estimate.
template <class Query>
void try_query(const Query& query) try {
  query();
} catch (const pjrt::PjrtError&) {
}

}  // namespace

evaluation::Record program_cost(const pjrt::CompiledProgram& program) {
  evaluation::Record out = evaluation::Record::object();
  try_query([&] {
    const auto cost = program.cost();
    for (const auto& [name, by_xla] :
         {std::pair{"flops", "flops"}, {"bytes_accessed", "bytes accessed"}})
      if (const auto found = cost.find(by_xla); found != cost.end()) put(out, name, found->second);
  });
  try_query([&] {
    const pjrt::CompiledMemory memory = program.memory();
    put(out, "argument_bytes", static_cast<double>(memory.argument_bytes));
    put(out, "temporary_bytes", static_cast<double>(memory.temporary_bytes));
    put(out, "peak_bytes", static_cast<double>(memory.peak_bytes));
  });
  return out;
}

std::string cost_text(const evaluation::Record& cost) {
  std::vector<std::string> out;
  if (cost.contains("flops"))
    out.push_back(scientific(cost["flops"].get<double>(), 2) + " operations");
  for (const auto& [name, words] : {std::pair{"bytes_accessed", "read and written"},
                                    {"argument_bytes", "arguments"},
                                    {"temporary_bytes", "temporaries"},
                                    {"peak_bytes", "at the peak"}})
    if (cost.contains(name)) out.push_back(str(bytes_text(cost[name].get<double>()), " ", words));
  return join(out, ", ");
}

}  // namespace smelt::train
