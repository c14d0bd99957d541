// When a run saves checkpoints and which ones it keeps, and when it stops early.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

namespace smelt::train {

struct CheckpointOptions {
  std::int64_t save_interval_steps = 500;
  double save_interval_minutes = 0;
  std::int64_t max_to_keep = 5;
  std::int64_t keep_period = 0;
  std::string best_metric = {};
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, CheckpointOptions>
void visit_fields(C& c, Visitor&& visit) {
  visit("save_interval_steps", c.save_interval_steps, "steps between checkpoints");
  visit("save_interval_minutes", c.save_interval_minutes,
        "also save if this many minutes have passed since the last checkpoint; 0: never");
  visit("max_to_keep", c.max_to_keep, "number of checkpoints to keep: the newest ones");
  visit("keep_period", c.keep_period,
        "checkpoints whose step is a multiple of this number are kept forever, in model/save; 0: "
        "none");
  visit("best_metric", c.best_metric,
        "metric of the evaluation, such as loss or masked_lm_accuracy; the checkpoint with its "
        "best value (the "
        "lowest loss, or the highest value of any other metric) is kept in model/best; needs "
        "eval.every; for text_to_text also exact_match or bleu of answers generated at each "
        "evaluation; empty: none");
}

struct EarlyStopping {
  std::int64_t patience = 0;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, EarlyStopping>
void visit_fields(C& c, Visitor&& visit) {
  visit("patience", c.patience,
        "stop after this many evaluations in a row without a better "
        "train.checkpoint.best_metric; 0: never");
}

}  // namespace smelt::train
