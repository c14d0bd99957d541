#include "pjrt/step_cycles.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>

#include "pjrt/device_specs.h"

namespace smelt::pjrt {
namespace {

// Parses "estimated_cycles":"59250" in the backend's JSON; returns 0 if it is missing.
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
  double all = 0, hbm = 0;  // bytes in total, and in HBM
};

double bytes_of(const HloInstruction& i) {
  double out = 0;
  for (const HloResult& result : i.results) out += static_cast<double>(result.bytes());
  return out;
}

// Returns the bytes of the results of a computation's instructions with these ids.
double operand_bytes(const HloComputation& c, std::span<const std::int64_t> ids) {
  double out = 0;
  for (const HloInstruction& i : c.instructions)
    if (std::ranges::find(ids, i.id) != ids.end()) out += bytes_of(i);
  return out;
}

// Returns the bytes of a collective's results; of its input for a reduce-scatter. The results of an
// all-gather-start are its inputs and then the gathered arrays, those of a collective-permute-start
// its input, the received array and two counters.
double collective_bytes(const HloComputation& c, const HloInstruction& i, std::string_view op) {
  if (op == "reduce-scatter") return operand_bytes(c, i.operands);
  const bool tuple = i.opcode.ends_with("-start") && i.results.size() > 1;
  if (tuple && op == "collective-permute") return static_cast<double>(i.results[1].bytes());
  if (!tuple || op != "all-gather") return bytes_of(i);
  double out = 0;
  for (std::size_t k = i.results.size() / 2; k < i.results.size(); ++k)
    out += static_cast<double>(i.results[k].bytes());
  return out;
}

// Returns the size of an instruction's results. In a loop, a result whose first dimension equals
// the number of iterations is a stack. Each iteration uses one slice of it, so one slice counts.
Sizes sizes_of(const HloInstruction& i, double runs) {
  Sizes out;
  for (const HloResult& result : i.results) {
    const bool stack =
        runs > 1 && !result.dims.empty() && static_cast<double>(result.dims.front()) == runs;
    const double part = static_cast<double>(result.bytes()) / (stack ? runs : 1);
    out.all += part;
    if (!result.on_core) out.hbm += part;
  }
  return out;
}

class CycleCounter {
 public:
  explicit CycleCounter(const HloModule& module) : module_(module) {}

  void add(std::int64_t id, double runs) {
    const HloComputation& c = module_.at(id);
    std::unordered_map<std::int64_t, Sizes> sizes;
    for (const HloInstruction& i : c.instructions) sizes[i.id] = sizes_of(i, runs);
    for (const HloInstruction& i : c.instructions) {
      add_cycles(i, runs, sizes);
      add_collective(c, i, runs);
      if (i.opcode == "fusion") add_fused_reduce_scatter(i, runs);
      if (i.opcode == "while")
        add(i.called.front(), runs * static_cast<double>(trip_count(module_, i)));
      else if (i.opcode == "call" || i.opcode == "conditional")
        for (const std::int64_t called : i.called) add(called, runs);
      else if (i.opcode == "async-start")
        for (const std::int64_t called : i.called) add_asynchronous(called, runs);
    }
  }
  StepCycles take() {
    std::ranges::stable_sort(out_.instructions, std::ranges::greater(), &InstructionCycles::cycles);
    return std::move(out_);
  }

 private:
  void add_cycles(const HloInstruction& i, double runs,
                  const std::unordered_map<std::int64_t, Sizes>& sizes) {
    const double cycles = runs * cycles_in(i.backend_config);
    if (cycles == 0) return;
    Sizes moved = sizes.at(i.id);
    for (const std::int64_t operand : i.operands)
      if (const auto size = sizes.find(operand); size != sizes.end()) {
        moved.all += size->second.all;
        moved.hbm += size->second.hbm;
      }
    out_.total += cycles;
    out_.instructions.push_back(
        {i.name, i.op_name, i.opcode, cycles, runs, runs * moved.all, runs * moved.hbm});
  }

  // A reduce-scatter may appear as a fusion of an all-reduce and a slice.
  void add_fused_reduce_scatter(const HloInstruction& fusion, double runs) {
    for (const std::int64_t called : fusion.called) {
      const HloComputation& c = module_.at(called);
      if (!c.name.starts_with("all-reduce-scatter")) continue;
      for (const HloInstruction& i : c.instructions)
        if (i.opcode == "all-reduce")
          out_.collectives.push_back(
              {"reduce-scatter", false, runs * bytes_of(i), runs, first_group(i)});
    }
  }

  static std::vector<std::int64_t> first_group(const HloInstruction& i) {
    return i.groups.empty() ? std::vector<std::int64_t>() : i.groups.front();
  }

  void add_collective(const HloComputation& c, const HloInstruction& i, double runs,
                      bool asynchronous = false) {
    static const std::set<std::string, std::less<>> kOps{"all-gather", "all-reduce", "all-to-all",
                                                         "collective-permute", "reduce-scatter"};
    std::string_view op = i.opcode;
    const bool started = op.ends_with("-start");
    if (started) op.remove_suffix(6);
    if (kOps.contains(op))
      out_.collectives.push_back({std::string(op), started || asynchronous,
                                  runs * collective_bytes(c, i, op), runs, first_group(i)});
  }

  // Adds the collectives of a computation that runs asynchronously.
  void add_asynchronous(std::int64_t id, double runs) {
    const HloComputation& c = module_.at(id);
    for (const HloInstruction& i : c.instructions) add_collective(c, i, runs, true);
  }

  const HloModule& module_;
  StepCycles out_;
};

}  // namespace

StepCycles step_cycles(const HloModule& module) {
  CycleCounter counter(module);
  counter.add(module.entry, 1);
  return counter.take();
}

double sent_bytes(const CollectiveBytes& c, std::int64_t devices) {
  if (c.opcode == "collective-permute") return c.bytes;
  const auto group_size = static_cast<double>(c.group.empty() ? devices : std::ssize(c.group));
  return c.bytes * (group_size - 1) / group_size * (c.opcode == "all-reduce" ? 2 : 1);
}

std::string axes_of(const compiler::Mesh& mesh, std::span<const std::int64_t> group) {
  std::string out;
  std::int64_t step = 1;  // difference of device numbers between neighbours on the axis
  for (std::size_t a = mesh.size(); a-- > 0;) {
    const auto& [axis, size] = mesh[a];
    const auto at = [&](std::int64_t device) { return device / step % size; };
    if (std::ranges::any_of(group, [&](std::int64_t d) { return at(d) != at(group.front()); }))
      out = axis + (out.empty() ? "" : "+") + out;
    step *= size;
  }
  return out;
}

double seconds_of(double cycles, std::string_view device_kind) {
  const double flops = cycle_flops(device_kind);
  return flops == 0 ? 0 : cycles * flops / peak_flops(device_kind, compiler::DType::bf16).value();
}

}  // namespace smelt::pjrt
