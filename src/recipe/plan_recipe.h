// smelt plan: a recipe's step on TPUs that are not here, by their compiler: does it fit, in which
// form, how long does the run take, what does it cost.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/accelerator.h"
#include "plan/compiles.h"
#include "plan/estimate.h"
#include "plan/prices.h"
#include "recipe/recipe.h"

namespace smelt {

struct PlanJob {
  std::string recipe;                 // a file or a run's folder
  std::vector<std::string> settings;  // as --set
  std::vector<Accelerator> types;
  bool all_forms = false;      // also those that need not be tried for the first that fits
  bool largest_batch = false;  // also look for the largest batch that fits
  std::string region = {};     // of prices; empty: the first that is known
};

// One way to run the recipe on a type.
struct PlannedForm {
  std::vector<std::string> settings;  // that choose it: {"train.layers=scan", "train.save=layer"}
  std::string words;                  // "as the recipe says", "layers in a loop, one saved"
  Compiled compiled;
  std::optional<Estimate> step;  // seconds; nothing where it does not fit
};

struct PlanRow {
  Accelerator type;
  std::string problem;                         // why no form could be compiled at all
  std::vector<PlannedForm> tried;              // in order
  std::optional<std::size_t> best;             // of tried: the fastest that fits
  std::int64_t batch = 0, tokens = 0;          // examples of a step, tokens of an example
  double flops = 0;                            // of a step on all devices, by the model's formula
  double parameter_bytes = 0, slot_bytes = 0;  // on a device
  RunWork work;
  std::optional<std::int64_t> largest_batch;
  RunTime time;
  RunCost cost;
  const Price* price = nullptr;  // of the Prices given

  bool fits() const { return best.has_value(); }
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

// `progress` is told how many compilations of how many are done. UsageError for a recipe that no
// type could take, or without libtpu.
Plan plan_recipe(const PlanJob& job, const TpuCompiles& compiles, const Prices& prices,
                 const std::function<void(std::size_t done, std::size_t of)>& progress = {});

}  // namespace smelt
