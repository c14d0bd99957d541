#include "cost_model/estimate.h"

#include <algorithm>

namespace smelt::cost_model {
namespace {

constexpr double kHostBytes = 200e6;  // bytes/s from a host to its bucket or disk

// Returns the seconds to send these bytes. Half of a link's bandwidth is for sending. The devices
// of a chip share its links; in an all-reduce they first reduce within the chip, so the chip sends
// these bytes only once.
double seconds_to_send(const Accelerator& type, double all_reduce, double other) {
  if (type.chips == 1) return 0;
  const double per_chip = static_cast<double>(type.devices) / type.chips;
  return (all_reduce + other * per_chip) / (interconnect_bytes(type.generation) / 2);
}

}  // namespace

Estimate usual_factor(const Accelerator& type) {
  if (type.is_gpu()) return kGpuFactor;
  return type.generation == "v4" ? kV4Factor : kTpuFactor;
}

double longest_run(const Accelerator& type) { return type.is_gpu() ? 1 : kLongestRun; }

double communication_seconds(const Accelerator& type, const SentBytes& sent) {
  return seconds_to_send(type, sent.all_reduce, sent.other);
}

StepWork step_work(const Accelerator& type, const Compiled& step, const StepProducts& products) {
  StepWork out;
  out.work = type.is_gpu() ? products.flops / type.flops_of(products.of, products.exact) +
                                 step.moved / type.bandwidth
                           : type.seconds_of(step.cycles);
  for (const SentBytes& s : step.sent) {
    out.communication += communication_seconds(type, s);
    out.exposed += seconds_to_send(type, s.all_reduce - s.asynchronous_all_reduce,
                                   s.other - s.asynchronous_other);
  }
  return out;
}

std::optional<Estimate> step_seconds(const StepWork& of, const Estimate& factor) {
  if (of.work <= 0) return std::nullopt;
  return Estimate{.low = std::max(factor.low * of.work, of.communication),
                  .likely = factor.likely * of.work + of.exposed,
                  .high = factor.high * of.work + of.communication};
}

double measured_factor(const StepWork& of, double seconds) {
  return std::max(0.05, (seconds - of.exposed) / of.work);
}

RunTime run_seconds(const Accelerator& type, const Estimate& step, const RunWork& work,
                    const std::optional<Estimate>& scored, double longest) {
  const auto steps = static_cast<double>(work.steps);
  double every = std::clamp(static_cast<double>(work.save_every), 1.0, std::max(steps, 1.0));
  if (work.save_minutes > 0)
    every = std::min(every, std::max(1.0, 60 * work.save_minutes / step.likely));
  const double saves = steps / every;
  RunTime out;
  const Estimate stepping = step.times(steps + kStallSteps * saves);
  const Estimate other = scored.value_or(Estimate()).times(work.evaluations).plus(kStartSeconds);
  out.seconds = stepping.plus(other);
  out.seconds.high = std::max(out.seconds.high, longest * stepping.likely + other.high);
  out.preemptions = out.seconds.likely * type.hosts / kSecondsBetweenPreemptions;
  const double lost = every / 2;
  out.spot_seconds = Estimate{
      .low = out.seconds.low,
      .likely = out.seconds.likely + out.preemptions * (lost * step.likely + kRecoverySeconds),
      .high = out.seconds.high + 3 * out.preemptions * (lost * step.high + kRecoverySeconds)};
  return out;
}

RunCost run_cost(const Accelerator& type, const RunTime& time, const Price* price) {
  RunCost out;
  if (price == nullptr) return out;
  const auto dollars = [&](const Estimate& seconds, double per_chip) {
    return seconds.times(per_chip * type.chips / 3600);
  };
  if (price->on_demand) out.on_demand = dollars(time.seconds, *price->on_demand);
  if (price->spot) out.spot = dollars(time.spot_seconds, *price->spot);
  return out;
}

double seconds_to_save(const Accelerator& type, double checkpoint_bytes) {
  return checkpoint_bytes / (kHostBytes * type.hosts);
}

}  // namespace smelt::cost_model
