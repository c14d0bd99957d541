// How long a step and a run take on a slice of TPUs or on GPUs, and what the run costs: a model
// with few factors (docs/explanation/cost-model.md shows it beside published runs).
#pragma once

#include <cstdint>
#include <optional>

#include "cost_model/accelerator.h"
#include "cost_model/compiles.h"
#include "cost_model/prices.h"

namespace smelt {

// A figure that is not known well: four of five true ones lie between low and high.
struct Estimate {
  double low = 0, likely = 0, high = 0;
  Estimate times(double factor) const { return {low * factor, likely * factor, high * factor}; }
  Estimate plus(double seconds) const { return {low + seconds, likely + seconds, high + seconds}; }
  Estimate plus(const Estimate& e) const { return {low + e.low, likely + e.likely, high + e.high}; }
};

// Seconds of a step over those of its work, by the fitted half of the published runs
// (docs/explanation/cost-model.md): of TPUs over the compiler's cycles (v4 has a separate factor);
// of GPUs over their roofline. That half has only one log of a TPU other than v4: it gives the
// likely factor, and the range around it is assumed.
constexpr Estimate kOfCycles{0.8, 1.07, 1.5};
constexpr Estimate kOfV4Cycles{0.58, 0.68, 0.75};
constexpr Estimate kOfRoofline{1.33, 1.68, 2.22};
Estimate usual_factor(const Accelerator& type);

// Whole published runs on TPUs took up to so many times their likely steps: with what else they
// did, what they waited for, and told in whole days. Of GPUs no such run is known.
constexpr double kLongestRun = 5.7;
double longest_run(const Accelerator& type);

// The matrix products of one device's step, and of what type their factors are.
struct StepProducts {
  double flops = 0;
  DType of = DType::f32;
  bool exact = false;  // of f32, not by tf32
};

// What a step's seconds are made of.
struct StepWork {
  // A TPU compiler's cycles at the chip's clock, or a GPU's products at its peak and then all bytes
  // at its memory's bandwidth. 0 where the compiler gave no figures.
  double work = 0;
  double told = 0, behind = 0;  // what devices tell one another, of it what no work goes beside
};
StepWork step_work(const Accelerator& type, const Compiled& step,
                   const StepProducts& products = {});
// The work, of which machines have been seen to need `factor`, and behind it what is told behind
// it; at best all is told beside it, at worst all behind. nullopt where there is no work.
std::optional<Estimate> step_seconds(const StepWork& of, const Estimate& factor);
// The likely factor by which a measured step is that; at least 0.05.
double measured_factor(const StepWork& of, double seconds);

// Seconds that devices tell one another along some axes of their mesh, at the links' full speed.
double telling_seconds(const Accelerator& type, const SentBytes& sent);

// What a run does besides its steps.
struct RunWork {
  std::int64_t steps = 0;
  std::int64_t save_every = 0;  // steps
  double save_minutes = 0;      // as well, where it is not 0
  double checkpoint_bytes = 0;  // of one
  double evaluations = 0;       // batches scored during and after training, as far as known
};

// Assumptions, in the order of docs/explanation/cost-model.md.
constexpr double kStartSeconds = 180;  // software, program, data, before the first step
constexpr double kStallSteps = 0.2;    // that a save stops (docs/explanation/performance.md)
constexpr double kSecondsBetweenPreemptions = 24 * 3600;  // of a machine, on spot
constexpr double kReturnSeconds = 600;                    // until another machine has gone on

struct RunTime {
  Estimate seconds;        // without preemptions
  Estimate spot_seconds;   // with those expected
  double preemptions = 0;  // expected of the slice, on spot
};
// `scored`: seconds of a batch of an evaluation; without it none is counted. `longest`: so many
// times its likely steps the run may take at least, for what is not counted at all.
RunTime run_seconds(const Accelerator& type, const Estimate& step, const RunWork& work,
                    const std::optional<Estimate>& scored = {}, double longest = 1);

// US dollars; nullopt where the price is not known.
struct RunCost {
  std::optional<Estimate> on_demand, spot;
};
RunCost run_cost(const Accelerator& type, const RunTime& time, const Price* price);

// Seconds to write a checkpoint from all hosts at `kHostDiskBytes` each, against the 30 s that a
// machine is told before it is taken.
double seconds_to_save(const Accelerator& type, double checkpoint_bytes);

}  // namespace smelt
