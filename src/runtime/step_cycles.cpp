#include "runtime/step_cycles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <unordered_map>

#include "runtime/peak_flops.h"

namespace smelt {
namespace {

// "estimated_cycles":"59250" of the backend's JSON; 0 without.
double cycles_in(std::string_view config) {
  constexpr std::string_view kField = "\"estimated_cycles\":\"";
  const std::size_t at = config.find(kField);
  if (at == std::string_view::npos) return 0;
  const std::string_view digits = config.substr(at + kField.size(), 20);
  std::int64_t out = 0;
  (void)std::from_chars(digits.data(), digits.data() + digits.size(), out);
  return static_cast<double>(out);
}

double bytes_of(const HloInstruction& i) {
  double out = 0;
  for (const HloResult& result : i.results) out += static_cast<double>(result.bytes());
  return out;
}

class Walk {
 public:
  explicit Walk(const HloModule& module) : module_(module) {}

  void add(std::int64_t id, double turns) {
    const HloComputation& c = module_.at(id);
    std::unordered_map<std::int64_t, double> sizes;
    for (const HloInstruction& i : c.instructions) sizes[i.id] = bytes_of(i);
    for (const HloInstruction& i : c.instructions) {
      add_cycles(i, turns, sizes);
      add_collective(i, turns);
      if (i.opcode == "while")
        add(i.called.front(), turns * static_cast<double>(turns_of(module_, i)));
      else if (i.opcode == "call" || i.opcode == "conditional")
        for (const std::int64_t called : i.called) add(called, turns);
      else if (i.opcode == "async-start")
        for (const std::int64_t called : i.called) add_told(called, turns);
    }
  }
  StepCycles take() {
    std::ranges::stable_sort(out_.instructions, std::ranges::greater(), &InstructionCycles::cycles);
    return std::move(out_);
  }

 private:
  void add_cycles(const HloInstruction& i, double turns,
                  const std::unordered_map<std::int64_t, double>& sizes) {
    const double cycles = turns * cycles_in(i.backend_config);
    if (cycles == 0) return;
    double bytes = bytes_of(i);
    for (const std::int64_t operand : i.operands)
      if (const auto size = sizes.find(operand); size != sizes.end()) bytes += size->second;
    out_.total += cycles;
    out_.instructions.push_back({i.name, i.op_name, i.opcode, cycles, turns, turns * bytes});
  }

  void add_collective(const HloInstruction& i, double turns, bool wrapped = false) {
    static const std::set<std::string, std::less<>> kOps{"all-gather", "all-reduce", "all-to-all",
                                                         "collective-permute", "reduce-scatter"};
    std::string_view op = i.opcode;
    const bool started = op.ends_with("-start");
    if (started) op.remove_suffix(6);
    if (kOps.contains(op))
      out_.collectives.push_back(
          {std::string(op), started || wrapped, turns * bytes_of(i) / (started ? 2 : 1), turns});
  }

  // Collectives of a computation that runs beside the others.
  void add_told(std::int64_t id, double turns) {
    for (const HloInstruction& i : module_.at(id).instructions) add_collective(i, turns, true);
  }

  const HloModule& module_;
  StepCycles out_;
};

struct KnownUnits {
  std::string_view kind;
  double flops;  // of a cycle, by all matrix units of a device, two to a place
};

// Units of 128 x 128: one on v2's core, two on v3's, four on v5e's, four on each of v4's two, eight
// on v5p's; on v6e's four of 256 x 256.
constexpr double kUnit = 2.0 * 128 * 128;
constexpr std::array<KnownUnits, 8> kUnits{{{"TPU v2", kUnit},
                                            {"TPU v3", 2 * kUnit},
                                            {"TPU v4 lite", 4 * kUnit},
                                            {"TPU v4", 8 * kUnit},
                                            {"TPU v5 lite", 4 * kUnit},
                                            {"TPU v5e", 4 * kUnit},
                                            {"TPU v5", 8 * kUnit},
                                            {"TPU v6", 16 * kUnit}}};

}  // namespace

StepCycles step_cycles(const HloModule& module) {
  Walk walk(module);
  walk.add(module.entry, 1);
  return walk.take();
}

double cycle_flops(std::string_view device_kind) {
  for (const KnownUnits& known : kUnits)
    if (device_kind.starts_with(known.kind)) return known.flops;
  return 0;
}

double seconds_of(double cycles, std::string_view device_kind) {
  const double flops = cycle_flops(device_kind);
  return flops == 0 ? 0 : cycles * flops / peak_flops(device_kind, DType::bf16).value();
}

}  // namespace smelt
