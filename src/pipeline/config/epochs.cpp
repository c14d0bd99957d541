#include "pipeline/config/epochs.h"

#include <algorithm>
#include <cmath>

#include "base/str.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/run_length.h"
#include "pipeline/config/text_size.h"

namespace smelt::pipeline {
namespace {

std::int64_t at_least_one(double steps) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(steps)));
}

// Returns whether warm-up or decay is given in epochs.
bool has_part_in_epochs(const model::ScheduleConfig& s) {
  return s.warmup.find("epoch") != s.warmup.npos || s.decay.find("epoch") != s.decay.npos;
}

}  // namespace

Recipe with_epochs(Recipe r) {
  train::TrainConfig& t = r.train;
  std::optional<double> epoch;  // steps of a pass over the examples
  if (t.epochs > 0 || r.eval.every_epochs > 0 || has_part_in_epochs(t.schedule))
    if (const auto examples = training_examples(r))
      epoch = *examples / static_cast<double>(t.batch_size);
  if (epoch && t.epochs > 0) t.steps = at_least_one(t.epochs * *epoch);
  if (epoch && r.eval.every_epochs > 0) r.eval.every = at_least_one(r.eval.every_epochs * *epoch);
  if (const std::int64_t tokens = tokens_of_example(r); t.tokens > 0 && tokens > 0)
    t.steps = at_least_one(t.tokens / static_cast<double>(tokens * t.batch_size));
  convert_schedule(r, epoch);
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
