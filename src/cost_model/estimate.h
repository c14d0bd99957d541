// Estimates how long a step and a run take on TPUs or GPUs, and what the run costs. The model has
// few parameters; docs/explanation/cost-model.md compares it with published runs.
#pragma once

#include <cstdint>
#include <optional>

#include "cost_model/accelerator.h"
#include "cost_model/compiles.h"
#include "cost_model/prices.h"

namespace smelt::cost_model {

// An uncertain value: four of five true values are between `low` and `high`.
struct Estimate {
  double low = 0, likely = 0, high = 0;
  Estimate times(double factor) const { return {low * factor, likely * factor, high * factor}; }
  Estimate plus(double seconds) const { return {low + seconds, likely + seconds, high + seconds}; }
  Estimate plus(const Estimate& e) const { return {low + e.low, likely + e.likely, high + e.high}; }
};

// Measured step time divided by the time of the step's work (TPUs: the compiler's cycles, with a
// separate factor for v4; GPUs: the roofline model). Fitted on half of the published runs
// (docs/explanation/cost-model.md). For TPUs other than v4 it includes a single log, so the range
// around the likely factor is assumed.
constexpr Estimate kOfCycles{0.8, 1.07, 1.5};
constexpr Estimate kOfV4Cycles{0.58, 0.68, 0.75};
constexpr Estimate kOfRoofline{1.33, 1.68, 2.22};
// Returns the factor for an accelerator.
Estimate usual_factor(const Accelerator& type);

// The longest published run on TPUs took this multiple of its likely step time, including waiting,
// other work and reporting in whole days. No such run is known for GPUs.
constexpr double kLongestRun = 5.7;
// Returns that multiple for an accelerator; 1 for GPUs.
double longest_run(const Accelerator& type);

// The matmuls of one device's step and the type of their inputs.
struct StepProducts {
  double flops = 0;
  compiler::DType of = compiler::DType::f32;
  bool exact = false;  // f32 without tf32
};

// The parts of a step's time, in seconds.
struct StepWork {
  // TPU: the compiler's cycles at the chip's clock rate. GPU: the matmuls at peak FLOP/s plus all
  // bytes at memory bandwidth. 0 if the compiler reported nothing.
  double work = 0;
  double told = 0, behind = 0;  // communication; of it, what cannot overlap with work
};
// Returns the parts of a step's time from the compiler's report.
StepWork step_work(const Accelerator& type, const Compiled& step,
                   const StepProducts& products = {});
// Returns the time of a step: the work times `factor` plus the communication that cannot overlap.
// In the best case all communication overlaps with work, in the worst case none. Returns nullopt if
// the work is unknown.
std::optional<Estimate> step_seconds(const StepWork& of, const Estimate& factor);
// Returns the factor for which the likely time equals a measured step time; at least 0.05.
double measured_factor(const StepWork& of, double seconds);

// Returns the seconds of communication along some axes of the mesh at full link speed.
double telling_seconds(const Accelerator& type, const SentBytes& sent);

// The work of a run that determines its total time.
struct RunWork {
  std::int64_t steps = 0;
  std::int64_t save_every = 0;  // in steps
  double save_minutes = 0;      // in addition to save_every; 0: not used
  double checkpoint_bytes = 0;  // size of one checkpoint
  double evaluations = 0;  // number of batches evaluated during and after training, as far as known
};

// Assumptions, in the order of docs/explanation/cost-model.md. Seconds before the first step, to
// install software and to load the program and the data.
constexpr double kStartSeconds = 180;
// Duration of a save in steps (docs/explanation/performance.md)
constexpr double kStallSteps = 0.2;
constexpr double kSecondsBetweenPreemptions = 24 * 3600;  // of a spot machine
constexpr double kReturnSeconds = 600;                    // until a replacement machine has resumed

// The time of a run in seconds.
struct RunTime {
  Estimate seconds;        // without preemptions
  Estimate spot_seconds;   // with the expected preemptions
  double preemptions = 0;  // expected number for the slice on spot
};
// Returns the time of a run. `scored` is the time of one batch of evaluation; without it
// evaluations are not counted. The upper bound is at least `longest` times the likely time of the
// steps, to allow for work that is not modeled.
RunTime run_seconds(const Accelerator& type, const Estimate& step, const RunWork& work,
                    const std::optional<Estimate>& scored = {}, double longest = 1);

// The cost of a run in US dollars; nullopt if the price is unknown.
struct RunCost {
  std::optional<Estimate> on_demand, spot;
};
RunCost run_cost(const Accelerator& type, const RunTime& time, const Price* price);

// Returns the seconds to write a checkpoint from all hosts in parallel. A machine gets 30 s notice
// before it is preempted.
double seconds_to_save(const Accelerator& type, double checkpoint_bytes);

}  // namespace smelt::cost_model
