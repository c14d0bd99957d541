#include "train/packing_plan.h"

#include "base/error.h"
#include "base/number_format.h"
#include "base/plural.h"

namespace smelt::train {
namespace {

constexpr double kWorthwhile =
    0.9;  // most time of a step, without packing 1, for which `auto` packs

// Returns why the job cannot be packed, or an empty text.
std::string obstacle(const TrainJob& job) {
  if (job.task.frozen) return "a model that learns from a teacher cannot be packed";
  if (!job.task.can_be_packed)
    return str("the training examples of this model (", job.task.name, ") cannot be packed");
  if (job.config.reduction == model::Reduction::per_replica)
    return str(
        job.fields("parallelism.reduction"),
        " is per_replica, for which the loss of each device depends on which examples it has");
  return "";
}

std::string saving(const data::PackingPlan& plan) {
  if (plan.time == 1) return "packing would not save time";
  return str(counted(plan.batch_size, "example"), " of a step fit into ",
             counted(plan.rows * plan.shards(), "row"), " of ", plan.length, " tokens in ",
             percent(plan.fitting), " of the steps; a step takes about ", percent(plan.time),
             " of the time without packing");
}

}  // namespace

void check_packing(const TrainJob& job) {
  if (job.config.packing != model::PackingMode::on) return;
  const std::string field = job.fields("packing"), why = obstacle(job);
  if (!why.empty())
    throw UsageError(str(field, " is on, but ", why), str("set ", field, " to off"));
}

PackingChoice choose_packing(const TrainJob& job, const data::ExampleSource& source,
                             std::int64_t row_shards) {
  const model::PackingMode mode = job.config.packing;
  if (mode == model::PackingMode::off) return {};
  check_packing(job);
  if (const std::string why = obstacle(job); !why.empty()) return {{}, "off, because " + why};
  const std::size_t tokens = data::find_feature(job.task.features, job.task.tokens);
  const data::PackingPlan plan =
      data::choose_rows(source, {.tokens = job.task.tokens,
                                 .length = job.task.features[tokens].row.at(0),
                                 .batch_size = job.config.batch_size,
                                 .devices = row_shards,
                                 .micro_batches = job.config.micro_batches});
  const bool packs = mode == model::PackingMode::on ? plan.time < 1 : plan.time <= kWorthwhile;
  if (!packs) return {{}, "off: " + saving(plan)};
  return {plan, "on: " + saving(plan)};
}

}  // namespace smelt::train
