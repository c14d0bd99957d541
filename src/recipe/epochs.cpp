#include "recipe/epochs.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "data/description.h"
#include "data/example_source.h"
#include "recipe/objective_type.h"
#include "recipe/pipeline.h"

namespace smelt {
namespace {

std::optional<double> examples_of(const Recipe& r) {
  const auto files = record_files(RecipePaths(r).train_records);
  if (files.empty()) return std::nullopt;
  if (const auto described = find_description(files); described && described->examples)
    return static_cast<double>(*described->examples);
  const Task task = r.type->task(r);
  const auto source = open_examples(
      {.input = RecipePaths(r).train_records, .features = task.features, .windows = task.windows});
  return static_cast<double>(source->epoch_size());
}

std::int64_t at_least_one(double steps) {
  return std::max<std::int64_t>(1, std::llround(std::ceil(steps)));
}

}  // namespace

Recipe with_epochs(Recipe r) {
  TrainSection& t = r.train;
  if (t.epochs > 0 || r.eval.every_epochs > 0)
    if (const auto examples = examples_of(r)) {
      const double steps = *examples / static_cast<double>(t.batch_size);  // of an epoch
      if (t.epochs > 0) t.steps = at_least_one(t.epochs * steps);
      if (r.eval.every_epochs > 0) r.eval.every = at_least_one(r.eval.every_epochs * steps);
    }
  if (t.warmup_ratio > 0)
    t.warmup_steps = std::llround(t.warmup_ratio * static_cast<double>(t.steps));
  if (t.decay_ratio > 0)
    t.decay_steps =
        std::clamp<std::int64_t>(std::llround(t.decay_ratio * static_cast<double>(t.steps)), 1,
                                 std::max<std::int64_t>(1, t.steps - t.warmup_steps));
  return r;
}

std::string uncounted_epochs(const Recipe& r) {
  if (r.train.epochs == 0 || examples_of(r)) return "";
  return str("train.epochs ", r.train.epochs,
             " are counted in steps once the examples are made; until then as train.steps, ",
             r.train.steps);
}

}  // namespace smelt
