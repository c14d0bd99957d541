// Which size of model to train on a text, on which machine, for an amount of money: estimates by
// arithmetic, at once. A plan (recipe/plan_recipe.h) compiles the steps and is closer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/accelerator.h"
#include "plan/estimate.h"
#include "plan/prices.h"
#include "recipe/starter.h"
#include "recipe/text_size.h"

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
  Accelerator type;
  const Price* price = nullptr;
  bool spot = false;
  double parameters = 0;
  double memory = 0;  // bytes of a device, about
  Estimate step;      // seconds
  std::int64_t batch = 0, steps = 0;
  double passes = 0;  // over the text
  Estimate hours, dollars;
  bool fits() const { return memory < 0.9 * type.memory; }
};

struct Advice {
  TextSize text;
  std::vector<AdviceRow> rows;
  // Of rows: the largest model that the text is enough for, on the machine that makes the usual
  // passes for least money, or the most passes. nullopt if no row fits.
  std::optional<std::size_t> best;
};

// Throws a UsageError if the text is not on this machine.
Advice advise(const AdviceJob& job, const Prices& prices);
// A table, the chosen row marked, and what the figures are made of.
std::string advice_text(const Advice& advice, const AdviceJob& job);
// The recipe of a row.
std::string advised_recipe(const AdviceRow& row, const AdviceJob& job);

}  // namespace smelt
