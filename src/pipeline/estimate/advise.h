// Recommends the size of a model for a text, and a machine to train it on within a budget. The step
// time is estimated by arithmetic, which takes no time; the time and cost of the run follow from it
// as in a plan (pipeline/estimate/plan_recipe.h). A plan compiles the step and is more accurate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost_model/accelerator.h"
#include "cost_model/estimate.h"
#include "cost_model/prices.h"
#include "pipeline/config/text_size.h"
#include "pipeline/estimate/plan_recipe.h"
#include "pipeline/starter/starter.h"

namespace smelt::pipeline {

struct AdviceJob {
  std::string input;          // text files or patterns
  double budget = 50;         // US dollars
  bool spot = false;          // use the spot price of types that have one
  std::string kind = "bert";  // or "electra"
  std::vector<cost_model::Accelerator> types;
};

// A model size, combined with an accelerator type.
struct AdviceRow {
  ModelSize size;
  std::int64_t vocabulary = 0;  // pieces
  bool spot = false;
  double parameters = 0;
  double memory = 0;  // approximate bytes per device
  // The type, its price and the step: a row of a plan, but with an estimated instead of a compiled
  // step.
  PlanRow plan;
  std::int64_t steps = 0;
  double passes = 0;  // over the text
  cost_model::Estimate hours, dollars;
  bool fits() const { return memory < 0.9 * plan.type.memory; }
};

// A pre-training step to estimate.
struct AdvisedStep {
  ModelSize size;
  std::string kind = "bert";  // or "electra"
  std::int64_t vocabulary = 30000;
  std::int64_t batch = 256, tokens = 128;
};
// Returns the estimated work of the step: its operations at a typical share of the type's peak,
// before usual_factor() is applied.
cost_model::StepWork advised_work(const AdvisedStep& step, const cost_model::Accelerator& type);

struct Advice {
  TextSize text;
  std::vector<AdviceRow> rows;
  std::vector<std::string> unpriced;  // types without a known price, which have no row
  // Index in `rows` of the recommended row. Model: the largest one for which the text has enough
  // tokens and the budget pays for at least 5 passes; if there is none, the smallest one. Machine:
  // the one that makes the most passes, not counting passes above the usual number; if several make
  // the same, the cheapest. nullopt if no model fits in the memory of any machine or the budget
  // does not pay for a single step.
  std::optional<std::size_t> best;
};

// Throws UsageError if the text is not on this machine, is empty or in another encoding, or if no
// type has a price.
Advice advise(const AdviceJob& job, const cost_model::Prices& prices);
// Returns a table in which the recommended row is marked, and the assumptions of its estimates.
std::string advice_text(const Advice& advice, const AdviceJob& job);
// Returns a recipe (YAML) that trains the model of `row` on the text.
std::string advised_recipe(const AdviceRow& row, const AdviceJob& job, const TextSize& text);

}  // namespace smelt::pipeline
