#include "pipeline/config/epochs.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/text_size.h"

namespace smelt::pipeline {
namespace {

std::int64_t at_least_one(double steps) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(steps)));
}

}  // namespace

Recipe with_epochs(Recipe r) {
  train::TrainConfig& t = r.train;
  if (t.epochs > 0 || r.eval.every_epochs > 0)
    if (const auto examples = training_examples(r)) {
      const double steps = *examples / static_cast<double>(t.batch_size);  // per epoch
      if (t.epochs > 0) t.steps = at_least_one(t.epochs * steps);
      if (r.eval.every_epochs > 0) r.eval.every = at_least_one(r.eval.every_epochs * steps);
    }
  if (const std::int64_t tokens = tokens_of_example(r); t.tokens > 0 && tokens > 0)
    t.steps = at_least_one(t.tokens / static_cast<double>(tokens * t.batch_size));
  if (t.schedule.warmup_ratio > 0)
    t.schedule.warmup_steps = std::llround(t.schedule.warmup_ratio * static_cast<double>(t.steps));
  if (t.schedule.decay_ratio > 0)
    t.schedule.decay_steps = std::clamp<std::int64_t>(
        std::llround(t.schedule.decay_ratio * static_cast<double>(t.steps)), 1,
        std::max<std::int64_t>(1, t.steps - t.schedule.warmup_steps));
  return r;
}

std::string unknown_epochs_remark(const Recipe& r) {
  if (r.train.epochs == 0 || !record_files(RecipePaths(r).train_records).empty()) return "";
  return str(
      "train.epochs ", r.train.epochs, ": ",
      training_examples(r) ? "about " : "steps are counted once the examples are made; until then ",
      r.train.steps, " steps",
      training_examples(r) ? ", estimated from the text size until the examples are made"
                           : " (train.steps)");
}

}  // namespace smelt::pipeline
