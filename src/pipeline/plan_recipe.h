// smelt plan: a run's step on TPUs that are not here, by their compiler, or on GPUs, by the
// operations and bytes that it counts: does it fit, in which form, how long does the run take, what
// does it cost.
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
#include "pipeline/recipe.h"
#include "train/trainer.h"

namespace smelt {

// What a run scores besides training.
struct PlannedEvaluation {
  std::int64_t batch = 0, passes = 1;
  double times = 0;                // that the held-out examples are scored, in all
  std::optional<double> examples;  // each time; nothing where that is not known before the data are
};

struct PlannedRun {
  TrainJob job;
  std::optional<PlannedEvaluation> evaluation = {};
  std::string unknown = {};  // what is not known before the data are: "train.epochs 3 are …"
};

struct PlanJob {
  // The run on a type's devices. UsageError where it cannot be.
  std::function<PlannedRun(const Accelerator& type)> run_on;
  std::vector<Accelerator> types;
  bool all_forms = false;      // also those that need not be tried for the first that fits
  bool largest_batch = false;  // also look for the largest batch that fits
  bool steps_only = false;     // not what the run scores besides training
  std::string region = {};     // of prices; empty: the first that is known
  // step_seconds()'s factor by generation, where smelt's own runs have shown it.
  std::map<std::string, Estimate> factors = {};
};

// Of a recipe whose train.devices are the type's. UsageError for a type of model whose step is not
// known before its data are.
PlannedRun planned_run(const Recipe& recipe);
// With the type's devices set over the others' settings.
Recipe recipe_on(const Accelerator& type, const std::string& recipe,
                 std::vector<std::string> settings);

// One way to make the run's step on a type.
struct PlannedForm {
  std::vector<std::string>
      settings;  // that choose it: {"train.memory.layers=scan", "train.memory.remat_policy=layer"}
  std::string words;  // "unrolled", "loop, layer rematerialization"
  // When a run that is told nothing tries it: 0 is its own form. Nothing: never.
  std::optional<std::size_t> turn = {};
  Compiled compiled;
  StepProducts products;  // of a device; none are counted for TPUs
  StepWork work = {};
  std::optional<Estimate> step;  // seconds; nothing where it does not fit
};

struct PlanRow {
  Accelerator type;
  std::string unknown;                         // as PlannedRun has it
  std::string problem;                         // why no form could be compiled at all
  std::vector<PlannedForm> tried;              // in order
  std::optional<std::size_t> best;             // of tried: the fastest that fits
  std::int64_t batch = 0, tokens = 0;          // examples of a step, tokens of an example
  double flops = 0;                            // of a step on all devices, by the model's formula
  double parameter_bytes = 0, slot_bytes = 0;  // on a device
  Estimate factor;                             // of a step's work, as step_seconds() takes it
  double longest_run = 1;                      // of a run's seconds, as run_seconds() takes it
  RunWork work;
  double final_evaluations = 0;        // of work.evaluations, those after training
  std::optional<Compiled> evaluation;  // a batch of it, in the best form
  std::optional<Estimate> scored;      // its seconds
  std::optional<std::int64_t> largest_batch;
  std::string larger_unknown = {};  // why the compiler did not say whether the next one fits
  RunTime time;
  RunCost cost;
  const Price* price = nullptr;  // of the Prices given

  bool fits() const { return best.has_value(); }
  // Of tried: what a run takes without being told, the first in its order that fits. Nothing where
  // the compiler has not said so of those before it.
  std::optional<std::size_t> taken() const;
  bool takes_form_by_itself() const { return best && taken() == best; }
  const PlannedForm& form() const { return tried.at(*best); }
  // Of the peak of all devices, that the model's products take.
  double share_of_peak() const;
  double memory() const { return type.memory; }  // bytes of a device
};

struct Plan {
  std::vector<PlanRow> rows;  // in the order of the types
  // Of rows: the one whose run costs least (on spot where that price is known), takes least time.
  std::optional<std::size_t> cheapest, fastest;
};

struct PlanTold {
  // How many compilations of how many are done.
  std::function<void(std::size_t done, std::size_t of)> progress = {};
  // Where the layers of a long run are unrolled, which takes minutes to compile, they are compiled
  // in a loop first: each row of that as soon as it is known.
  std::function<void(const PlanRow& first)> first = {};
};

// The generation that a run of smelt's was made on, by its folder, and the factor that its steps
// show, give or take a tenth. UsageError for a run on other devices, without steps told or without
// its recipe.
std::pair<std::string, Estimate> calibration(const std::string& run, const TpuCompiles& compiles);

// UsageError for a run that no type could take, or without libtpu.
Plan plan_run(const PlanJob& job, const TpuCompiles& compiles, const Prices& prices,
              const PlanTold& told = {});

}  // namespace smelt
