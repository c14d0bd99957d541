#include "plan/estimate.h"

#include <algorithm>

namespace smelt {
namespace {

constexpr double kHostBytes = 200e6;  // a second, of a host to its bucket or disk

// Half of a link's bytes go out. Devices of a chip share its links, but add up among themselves
// what they sum with others.
double seconds_to_send(const Accelerator& type, double all_reduce, double other) {
  if (type.chips == 1) return 0;
  const double per_chip = static_cast<double>(type.devices) / type.chips;
  return (all_reduce + other * per_chip) / (interconnect_bytes(type.generation) / 2);
}

struct Telling {
  double all = 0, behind = 0;  // seconds; of these what no other work goes beside
};
Telling telling(const Accelerator& type, const Compiled& step) {
  Telling out;
  for (const SentBytes& s : step.sent) {
    out.all += telling_seconds(type, s);
    out.behind += seconds_to_send(type, s.all_reduce - s.asynchronous_all_reduce,
                                  s.other - s.asynchronous_other);
  }
  return out;
}

}  // namespace

Estimate usual_factor(const Accelerator& type) { return type.is_gpu() ? kOfRoofline : kOfCycles; }

double telling_seconds(const Accelerator& type, const SentBytes& sent) {
  return seconds_to_send(type, sent.all_reduce, sent.other);
}

double work_seconds(const Accelerator& type, const Compiled& step, const StepProducts& products) {
  if (!type.is_gpu()) return type.seconds_of(step.cycles);
  return products.flops / type.flops_of(products.of, products.exact) + step.moved / type.bandwidth;
}

std::optional<Estimate> step_seconds(const Accelerator& type, const Compiled& step,
                                     const Estimate& factor, const StepProducts& products) {
  const double work = work_seconds(type, step, products);
  if (work <= 0) return std::nullopt;
  const Telling told = telling(type, step);
  return Estimate{.low = std::max(factor.low * work, told.all),
                  .likely = factor.likely * work + told.behind,
                  .high = factor.high * work + told.all};
}

double measured_factor(const Accelerator& type, const Compiled& step, double seconds,
                       const StepProducts& products) {
  return std::max(0.05,
                  (seconds - telling(type, step).behind) / work_seconds(type, step, products));
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
