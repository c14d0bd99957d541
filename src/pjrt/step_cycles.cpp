#include "pjrt/step_cycles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>
#include <unordered_map>

#include "pjrt/peak_flops.h"

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

struct Sizes {
  double all = 0, hbm = 0;  // bytes; of these in HBM
};

double bytes_of(const HloInstruction& i) {
  double out = 0;
  for (const HloResult& result : i.results) out += static_cast<double>(result.bytes());
  return out;
}

// Of a stack that its loop goes through one turn's part.
Sizes sizes_of(const HloInstruction& i, double turns) {
  Sizes out;
  for (const HloResult& result : i.results) {
    const bool stack =
        turns > 1 && !result.dims.empty() && static_cast<double>(result.dims.front()) == turns;
    const double part = static_cast<double>(result.bytes()) / (stack ? turns : 1);
    out.all += part;
    if (!result.on_core) out.hbm += part;
  }
  return out;
}

class Walk {
 public:
  explicit Walk(const HloModule& module) : module_(module) {}

  void add(std::int64_t id, double turns) {
    const HloComputation& c = module_.at(id);
    std::unordered_map<std::int64_t, Sizes> sizes;
    for (const HloInstruction& i : c.instructions) sizes[i.id] = sizes_of(i, turns);
    for (const HloInstruction& i : c.instructions) {
      add_cycles(i, turns, sizes);
      add_collective(i, turns);
      if (i.opcode == "fusion") add_cut_sums(i, turns);
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
                  const std::unordered_map<std::int64_t, Sizes>& sizes) {
    const double cycles = turns * cycles_in(i.backend_config);
    if (cycles == 0) return;
    Sizes moved = sizes.at(i.id);
    for (const std::int64_t operand : i.operands)
      if (const auto size = sizes.find(operand); size != sizes.end()) {
        moved.all += size->second.all;
        moved.hbm += size->second.hbm;
      }
    out_.total += cycles;
    out_.instructions.push_back(
        {i.name, i.op_name, i.opcode, cycles, turns, turns * moved.all, turns * moved.hbm});
  }

  // An all-reduce of which a device keeps a part is a fusion of both.
  void add_cut_sums(const HloInstruction& fusion, double turns) {
    for (const std::int64_t called : fusion.called) {
      const HloComputation& c = module_.at(called);
      if (!c.name.starts_with("all-reduce-scatter")) continue;
      for (const HloInstruction& i : c.instructions)
        if (i.opcode == "all-reduce")
          out_.collectives.push_back(
              {"reduce-scatter", false, turns * bytes_of(i), turns, first_group(i)});
    }
  }

  static std::vector<std::int64_t> first_group(const HloInstruction& i) {
    return i.groups.empty() ? std::vector<std::int64_t>() : i.groups.front();
  }

  void add_collective(const HloInstruction& i, double turns, bool wrapped = false) {
    static const std::set<std::string, std::less<>> kOps{"all-gather", "all-reduce", "all-to-all",
                                                         "collective-permute", "reduce-scatter"};
    std::string_view op = i.opcode;
    const bool started = op.ends_with("-start");
    if (started) op.remove_suffix(6);
    if (kOps.contains(op))
      out_.collectives.push_back({std::string(op), started || wrapped,
                                  turns * bytes_of(i) / (started ? 2 : 1), turns, first_group(i)});
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
// on v5p's; on v6e's four of 256 x 256, and as many are assumed on each of TPU7x's two cores.
constexpr double kUnit = 2.0 * 128 * 128;
constexpr std::array<KnownUnits, 9> kUnits{{{"TPU v2", kUnit},
                                            {"TPU v3", 2 * kUnit},
                                            {"TPU v4 lite", 4 * kUnit},
                                            {"TPU v4", 8 * kUnit},
                                            {"TPU v5 lite", 4 * kUnit},
                                            {"TPU v5e", 4 * kUnit},
                                            {"TPU v5", 8 * kUnit},
                                            {"TPU v6", 16 * kUnit},
                                            {"TPU7", 16 * kUnit}}};

}  // namespace

StepCycles step_cycles(const HloModule& module) {
  Walk walk(module);
  walk.add(module.entry, 1);
  return walk.take();
}

double sent_bytes(const CollectiveBytes& c, std::int64_t devices) {
  if (c.opcode == "collective-permute") return c.bytes;
  const auto told = static_cast<double>(c.group.empty() ? devices : std::ssize(c.group));
  return c.bytes * (told - 1) / told * (c.opcode == "all-reduce" ? 2 : 1);
}

std::string axes_of(const Mesh& mesh, std::span<const std::int64_t> group) {
  std::string out;
  std::int64_t step = 1;  // of an axis, in devices
  for (std::size_t a = mesh.size(); a-- > 0;) {
    const auto& [axis, size] = mesh[a];
    const auto at = [&](std::int64_t device) { return device / step % size; };
    if (std::ranges::any_of(group, [&](std::int64_t d) { return at(d) != at(group.front()); }))
      out = axis + (out.empty() ? "" : "+") + out;
    step *= size;
  }
  return out;
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
