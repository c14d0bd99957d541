// Which size of model to train on a text, on which machine, for an amount of money. A step is
// estimated by arithmetic, at once; time and cost of the run follow from it as in a plan
// (pipeline/plan_recipe.h), which compiles the step and is closer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/accelerator.h"
#include "cost_model/estimate.h"
#include "cost_model/prices.h"
#include "pipeline/plan_recipe.h"
#include "pipeline/starter.h"
#include "pipeline/text_size.h"

namespace smelt {

struct AdviceJob {
  std::string input;          // text files or patterns
  double budget = 50;         // US dollars
  bool spot = false;          // at spot prices, of types that have one
  std::string kind = "bert";  // or "electra"
  std::vector<Accelerator> types;
};

// A size of model on a machine.
struct AdviceRow {
  ModelSize size;
  std::int64_t vocabulary = 0;  // pieces
  bool spot = false;
  double parameters = 0;
  double memory = 0;  // bytes of a device, about
  // The type, its price and the step: a row of a plan whose step's work is estimated instead of
  // compiled.
  PlanRow plan;
  std::int64_t steps = 0;
  double passes = 0;  // over the text
  Estimate hours, dollars;
  bool fits() const { return memory < 0.9 * plan.type.memory; }
};

// A step of pre-training, and the work that it is estimated to be before the factor of
// usual_factor(): the operations at a share of the type's peak.
struct AdvisedStep {
  ModelSize size;
  std::string kind = "bert";  // or "electra"
  std::int64_t vocabulary = 30000;
  std::int64_t batch = 256, tokens = 128;
};
StepWork advised_work(const AdvisedStep& step, const Accelerator& type);

struct Advice {
  TextSize text;
  std::vector<AdviceRow> rows;
  std::vector<std::string> unpriced;  // types that are left out, as their price is not known
  // Of rows: the largest model that the text is enough for, on the machine that makes the usual
  // passes for least money, or the most passes. nullopt if no row fits.
  std::optional<std::size_t> best;
};

// Throws a UsageError if the text is not on this machine, is empty or in another encoding, or if no
// type has a price.
Advice advise(const AdviceJob& job, const Prices& prices);
// Returns a table with the chosen row marked, and what its estimates are made of.
std::string advice_text(const Advice& advice, const AdviceJob& job);
// Returns the recipe of a row for the text.
std::string advised_recipe(const AdviceRow& row, const AdviceJob& job, const TextSize& text);

}  // namespace smelt
