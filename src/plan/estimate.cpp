#include "plan/estimate.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr double kHostBytes = 200e6;  // a second, of a host to its bucket or disk

// Seconds that devices tell one another: an all-reduce sends what it adds up twice, half of a
// link's bytes go out; devices of a chip share its links.
double telling(const Accelerator& type, const Compiled& step) {
  if (type.chips == 1) return 0;
  const double out_bytes = interconnect_bytes(type.generation) / 2;
  const double per_chip = static_cast<double>(type.devices) / type.chips;
  return (2 * step.reduced + step.gathered * per_chip) / out_bytes;
}

}  // namespace

std::optional<Estimate> step_seconds(const Accelerator& type, const Compiled& step,
                                     const Estimate& of_cycles) {
  if (step.cycles <= 0) return std::nullopt;
  const double work = type.seconds_of(step.cycles), told = telling(type, step);
  return Estimate{.low = std::max(of_cycles.low * work, told),
                  .likely = of_cycles.likely * work + told / 2,
                  .high = of_cycles.high * work + told};
}

double measured_factor(const Accelerator& type, const Compiled& step, double seconds) {
  return std::max(0.05, (seconds - telling(type, step) / 2) / type.seconds_of(step.cycles));
}

RunTime run_seconds(const Accelerator& type, const Estimate& step, const RunWork& work,
                    const std::optional<Estimate>& scored) {
  const auto steps = static_cast<double>(work.steps);
  double every = std::clamp(static_cast<double>(work.save_every), 1.0, std::max(steps, 1.0));
  if (work.save_minutes > 0)
    every = std::min(every, std::max(1.0, 60 * work.save_minutes / step.likely));
  const double saves = steps / every;
  RunTime out;
  out.seconds = step.times(steps + kStallSteps * saves)
                    .plus(scored.value_or(Estimate()).times(work.evaluations))
                    .plus(kStartSeconds);
  out.preemptions = out.seconds.likely * type.hosts / kSecondsBetweenPreemptions;
  const double lost = every / 2;
  out.spot_seconds = Estimate{
      .low = out.seconds.low,
      .likely = out.seconds.likely + out.preemptions * (lost * step.likely + kReturnSeconds),
      .high = out.seconds.high + 3 * out.preemptions * (lost * step.high + kReturnSeconds)};
  return out;
}

RunCost run_cost(const Accelerator& type, const RunTime& time, const Price* price) {
  RunCost out;
  if (price == nullptr) return out;
  const auto dollars = [&](const Estimate& seconds, double of_chip) {
    return seconds.times(of_chip * type.chips / 3600);
  };
  if (price->on_demand) out.on_demand = dollars(time.seconds, *price->on_demand);
  if (price->spot) out.spot = dollars(time.spot_seconds, *price->spot);
  return out;
}

double seconds_to_save(const Accelerator& type, double checkpoint_bytes) {
  return checkpoint_bytes / (kHostBytes * type.hosts);
}

}  // namespace smelt
