// Plans of a run (`smelt plan`): whether its step fits on TPUs or GPUs that are not on this
// machine, how long the run takes and what it costs. Steps for TPUs are compiled by the TPU
// compiler; steps for GPUs are estimated from their operations and bytes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/accelerator.h"
#include "cost_model/compiles.h"
#include "cost_model/estimate.h"
#include "cost_model/prices.h"
#include "pipeline/config/recipe.h"
#include "train/trainer.h"

namespace smelt::pipeline {

// Evaluations of a run, during and after training.
struct PlannedEvaluation {
  // Examples per batch, and how often each batch is evaluated (eval.passes).
  std::int64_t batch = 0, passes = 1;
  double times = 0;  // number of evaluations in the run
  // Examples of one evaluation; nullopt if that is not known before the data are made.
  std::optional<double> examples;
};

struct PlannedRun {
  train::TrainJob job;
  std::optional<PlannedEvaluation> evaluation = {};
  // Lines for the user about what the plan does not know: the number of steps, if it depends on
  // data that are not made yet, and missing initial weights. Empty if the plan knows everything.
  std::string unknown = {};
  // How training packs its examples (train.packing). Empty if it does not pack, or if the examples
  // are not made yet.
  std::string packing = {};
  double packed_time = 1;  // mean time of a step divided by its time without packing
};

struct PlanJob {
  // Returns the run on a type's devices. Throws UsageError if the run is not possible there.
  std::function<PlannedRun(const cost_model::Accelerator& type)> run_on;
  std::vector<cost_model::Accelerator> types;
  // Compile all variants of the step, not only up to the first that fits.
  bool all_variants = false;
  bool largest_batch = false;  // also find the largest batch size that fits
  bool steps_only = false;     // leave out evaluations
  std::string region = {};     // region of the prices; empty: the first known one
  // step_seconds()'s factor by accelerator generation, measured on smelt's own runs.
  std::map<std::string, cost_model::Estimate> factors = {};
};

// Returns the run of a recipe from recipe_on(), whose train.devices is the number of devices of an
// accelerator type. Throws UsageError if the type of model needs its data to build the step.
PlannedRun planned_run(const Recipe& recipe);
// Loads a recipe with `settings`, but with train.device and train.devices set to those of the type.
Recipe recipe_on(const cost_model::Accelerator& type, const std::string& recipe,
                 std::vector<std::string> settings);

// A variant of the run's step for a type: its layers and rematerialization.
struct PlannedForm {
  // Settings that select the variant: {"train.memory.layers=scan",
  // "train.memory.remat_policy=layer"}.
  std::vector<std::string> settings;
  std::string words;  // for display: "unrolled", "loop, layer rematerialization"
  // Position at which a run with automatic settings tries the variant: 0 is the first. nullopt:
  // never.
  std::optional<std::size_t> turn = {};
  cost_model::Compiled compiled;
  cost_model::StepProducts products;  // per device; empty for TPUs
  cost_model::StepWork work = {};
  // Step time in seconds; nullopt if the step does not fit.
  std::optional<cost_model::Estimate> step;
};

struct PlanRow {
  cost_model::Accelerator type;
  std::string unknown;                 // see PlannedRun
  std::string problem;                 // why no variant could be compiled
  std::vector<PlannedForm> tried;      // in the order in which they were tried
  std::optional<std::size_t> best;     // index in `tried`: the fastest that fits
  std::int64_t batch = 0, tokens = 0;  // examples per step, tokens per example
  std::string packing;                 // see PlannedRun
  double packed_time = 1;
  double flops = 0;                            // per step on all devices, by the model's formula
  double parameter_bytes = 0, slot_bytes = 0;  // per device
  cost_model::Estimate factor;  // measured divided by estimated step time, for step_seconds()
  double longest_run = 1;       // factor of the run time's upper bound, for run_seconds()
  double seconds = 0;  // length of the run if it is a time, from which the plan computes work.steps
  cost_model::RunWork work;
  double final_evaluations = 0;  // number of work.evaluations that come after training
  std::optional<cost_model::Compiled> evaluation;  // evaluation batch, with the variant `best`
  std::optional<cost_model::Estimate> scored;      // seconds per evaluation batch
  std::optional<std::int64_t> largest_batch;
  // Why the compiler could not check the next larger batch size.
  std::string larger_unknown = {};
  cost_model::RunTime time;
  cost_model::RunCost cost;
  // Points into the Prices passed to plan_run(), which must outlive the row. Null: unknown.
  const cost_model::Price* price = nullptr;

  bool fits() const { return best.has_value(); }
  // Returns the index in `tried` of the variant that a run selects automatically: the first in its
  // order that fits. nullopt if none fits or the compiler failed on an earlier variant.
  std::optional<std::size_t> taken() const;
  bool is_selected_automatically() const { return best && taken() == best; }
  const PlannedForm& form() const { return tried.at(*best); }
  // Returns the share of all devices' peak that the model's matmuls achieve.
  double share_of_peak() const;
  double memory() const { return type.memory; }  // bytes per device
};

// Returns the time of the row's run with another number of steps.
cost_model::RunTime time_of(const PlanRow& row, std::int64_t steps);

struct Plan {
  std::vector<PlanRow> rows;  // in the order of the types
  // Indices in `rows` of the cheapest run (at the spot price if known) and of the shortest run. If
  // the length of the run is a time, the runs are compared by the cost and time of one step.
  std::optional<std::size_t> cheapest, fastest;
};

// Sets plan.cheapest and plan.fastest from the rows' times and costs.
void choose(Plan& plan);

struct PlanCallbacks {
  // Called with the number of finished compilations and their total.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
  // Called with each row of a preliminary plan, which compiles the layers as a loop. It is made
  // only if the run unrolls its layers, which takes minutes to compile.
  std::function<void(const PlanRow& first)> first = {};
};

// Returns, for the folder of a finished smelt run, its accelerator generation and the factor with
// which cost_model::step_seconds() gives the run's measured step time. The factor has an interval
// of 10 % around it. Throws UsageError if the run used devices of an unknown type, logged no steps
// or has no recipe.
std::pair<std::string, cost_model::Estimate> calibration(const std::string& run,
                                                         const cost_model::TpuCompiles& compiles);

// Compiles the run's step for each type and estimates its time and cost. Throws UsageError if no
// type supports the run, or libtpu is missing.
Plan plan_run(const PlanJob& job, const cost_model::TpuCompiles& compiles,
              const cost_model::Prices& prices, const PlanCallbacks& callbacks = {});

}  // namespace smelt::pipeline
