// What the compiler and the speed of a device say of a recipe's run (recipe/run_needs.h).
#include <spdlog/spdlog.h>

#include <cmath>
#include <iomanip>
#include <map>

#include "base/error.h"
#include "base/words.h"
#include "recipe/run_needs.h"
#include "runtime/find_plugin.h"
#include "runtime/measured_speed.h"
#include "runtime/peak_flops.h"
#include "runtime/topology.h"
#include "state/compiled_step.h"
#include "state/placement_options.h"
#include "train/job_program.h"

namespace smelt {
namespace {

// The usual slice of so many devices: of TPU v3, which has two a chip, or else v5e.
std::optional<std::string> usual_slice(std::int64_t devices) {
  static const std::map<std::int64_t, std::string> known{
      {1, "v5e:1x1"},  {4, "v5e:2x2"},  {8, "v3:2x2"},      {16, "v5e:4x4"},  {32, "v3:4x4"},
      {64, "v5e:8x8"}, {128, "v3:8x8"}, {256, "v5e:16x16"}, {512, "v3:16x16"}};
  const auto found = known.find(devices);
  if (found == known.end()) return std::nullopt;
  return found->second;
}

bool has_plugin(const char* device) try {
  (void)find_plugin(device);
  return true;
} catch (const UsageError&) {
  return false;
}

std::string long_time(double seconds) {
  constexpr double kHour = 3600, kDay = 24 * kHour;
  if (seconds < 2 * 60) return counted(std::lround(std::ceil(seconds)), "second");
  if (seconds < 2 * kHour) return str(std::lround(seconds / 60), " minutes");
  const bool days = seconds > 2 * kDay;
  return str(std::fixed, std::setprecision(1), seconds / (days ? kDay : kHour),
             days ? " days" : " hours");
}

// How much of a device's speed at products a whole step has, as measured (docs/performance.md).
constexpr double kShareOfProducts = 0.4;

}  // namespace

std::optional<CompiledFor> compile_for_tpu(const Recipe& r, std::string& why_not) {
  const auto slice = usual_slice(r.train.devices);
  if (!slice) {
    why_not =
        str("no usual slice of TPUs has ", r.train.devices, " devices; `smelt compile` takes any");
    return std::nullopt;
  }
  if (!r.program->step) {
    why_not = "this type of model builds no step before its data are there";
    return std::nullopt;
  }
  if (!has_plugin("tpu")) {
    why_not = "the compiler of TPUs is not installed; `smelt setup tpu` fetches it";
    return std::nullopt;
  }
  spdlog::info("dry run: compiling the step for {}", *slice);
  const StepProgram& step = *r.program->step;
  const Topology topology = Topology::tpu(*slice);
  const CompiledMemory memory = fitting(advice_for_training("train: a step", recipe_field), [&] {
    return topology.compile(emit_module(step.program, "step"), compile_options(step.placement))
        .memory();
  });
  return CompiledFor{.topology = *slice,
                     .device_kind = topology.device_kind(),
                     .bytes = static_cast<double>(memory.argument_bytes + memory.output_bytes -
                                                  memory.alias_bytes + memory.temporary_bytes +
                                                  memory.code_bytes)};
}

std::string time_text(const Recipe& r, const std::string& device_kind) {
  if (!r.program->step) return "not known before the data are there";
  const double operations = static_cast<double>(r.train.steps) *
                            static_cast<double>(r.train.batch_size) * r.program->flops_per_example;
  double speed = 0;
  std::string of;
  if (r.train.device == "cpu") {
    speed = measured_product_flops(*open_device("cpu", 1));
    of = "that this machine does on one product of matrices";
  } else {
    const Compute compute = compute_of(*r.program->job, r.train.device);
    const auto peak = peak_flops(device_kind, compute.dtype);
    if (!peak) return "not known before the device is at hand";
    speed = *peak * static_cast<double>(r.train.devices);
    of = str("that the makers of ", r.train.devices, " x ", device_kind, " say");
  }
  return str("about ", long_time(operations / speed / kShareOfProducts), ", if a step has ",
             std::lround(100 * kShareOfProducts), " % of the ", std::lround(speed / 1e9),
             " billion operations a second ", of);
}

}  // namespace smelt
