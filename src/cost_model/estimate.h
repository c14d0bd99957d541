// Estimates how long a step and a run take on TPUs or GPUs, and what the run costs. The model has
// few parameters; docs/explanation/cost-model.md compares it with published runs.
#pragma once

#include <cstdint>
#include <optional>

#include "cost_model/accelerator.h"
#include "cost_model/compiles.h"
#include "cost_model/prices.h"

namespace smelt::cost_model {

// An uncertain value with an 80 % interval from `low` to `high`.
struct Estimate {
  double low = 0, likely = 0, high = 0;
  Estimate times(double factor) const { return {low * factor, likely * factor, high * factor}; }
  Estimate plus(double seconds) const { return {low + seconds, likely + seconds, high + seconds}; }
  Estimate plus(const Estimate& e) const { return {low + e.low, likely + e.likely, high + e.high}; }
};

// Measured step time divided by the modeled time, which is the compiler's cycles for TPUs and the
// roofline model for GPUs. Fitted on half of the published runs (docs/explanation/cost-model.md).
// For TPUs other than v4, that half has a single training log, so the range is an assumption.
constexpr Estimate kTpuFactor{0.8, 1.07, 1.5};
constexpr Estimate kV4Factor{0.58, 0.68, 0.75};
constexpr Estimate kGpuFactor{1.33, 1.68, 2.22};
// Returns the factor for an accelerator.
Estimate usual_factor(const Accelerator& type);

// Reported duration of the slowest published TPU run divided by its estimated likely time. It is
// large because published durations include queueing and other work, and are rounded to days.
constexpr double kLongestRun = 5.7;
// Returns kLongestRun for TPUs and 1 for GPUs, for which no such run is known.
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
  double communication = 0;
  double exposed = 0;  // the part of the communication that cannot overlap with work
};
// Computes the parts of a step's time from the compiler's report.
StepWork step_work(const Accelerator& type, const Compiled& step,
                   const StepProducts& products = {});
// Returns the time of a step: the work times `factor` plus the exposed communication. The low
// estimate assumes that all communication overlaps with work, the high one that none does. Returns
// nullopt if the work is unknown.
std::optional<Estimate> step_seconds(const StepWork& of, const Estimate& factor);
// Returns the factor for which the likely time equals a measured step time; at least 0.05.
double measured_factor(const StepWork& of, double seconds);

// Returns the seconds of communication along some axes of the mesh at full link speed.
double communication_seconds(const Accelerator& type, const SentBytes& sent);

// The work of a run that determines its total time.
struct RunWork {
  std::int64_t steps = 0;
  std::int64_t save_every = 0;  // in steps
  double save_minutes = 0;      // in addition to save_every; 0: not used
  double checkpoint_bytes = 0;  // size of one checkpoint
  double evaluations = 0;  // number of batches evaluated during and after training, as far as known
};

// The constants below are assumptions (docs/explanation/cost-model.md).
// Seconds before the first step, to install software and to load the program and the data.
constexpr double kStartSeconds = 180;
// Time that a checkpoint blocks training, in steps (docs/explanation/performance-history.md).
constexpr double kStallSteps = 0.2;
constexpr double kSecondsBetweenPreemptions = 24 * 3600;  // of a spot machine
constexpr double kRecoverySeconds = 600;                  // until a replacement machine has resumed

// The time of a run in seconds.
struct RunTime {
  Estimate seconds;        // without preemptions
  Estimate spot_seconds;   // with the expected preemptions
  double preemptions = 0;  // expected number on a spot slice
};
// Returns the time of a run. `scored` is the time of one evaluation batch; if it is nullopt,
// evaluations are not counted. The high estimate is at least `longest` times the likely time of all
// steps, to allow for delays that are not modeled.
RunTime run_seconds(const Accelerator& type, const Estimate& step, const RunWork& work,
                    const std::optional<Estimate>& scored = {}, double longest = 1);

// The cost of a run in US dollars; nullopt if the price is unknown.
struct RunCost {
  std::optional<Estimate> on_demand, spot;
};
RunCost run_cost(const Accelerator& type, const RunTime& time, const Price* price);

// Returns the seconds to write a checkpoint from all hosts in parallel. Compare it with the 30 s
// notice before a preemption.
double seconds_to_save(const Accelerator& type, double checkpoint_bytes);

}  // namespace smelt::cost_model
