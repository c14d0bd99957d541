#include "train/packing_plan.h"

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"

namespace smelt::train {
namespace {

constexpr double kWorthwhile = 0.9;  // largest share of the rows at which `auto` packs

// Throws UsageError if the job cannot be packed.
void check_can_be_packed(const TrainJob& job) {
  const std::string field = job.fields("packing");
  if (!job.task.can_be_packed)
    throw UsageError(
        str(field, " is on, but a ", job.task.name,
            job.task.frozen ? " that learns from a teacher" : " task", " cannot be packed"),
        str("set ", field, " to off"));
  if (job.config.reduction == model::Reduction::per_replica)
    throw UsageError(str(field, " is on, but ", job.fields("parallelism.reduction"),
                         " is per_replica, which normalizes each device's loss by the sequences "
                         "that it would have without packing"),
                     str("set ", field, " to off, or the reduction to global"));
}

}  // namespace

std::optional<data::PackingPlan> packing_plan(const TrainJob& job,
                                              const data::ExampleSource& source,
                                              const model::ShardingPlan& placement) {
  const model::PackingMode mode = job.config.packing;
  if (mode == model::PackingMode::off) return {};
  if (mode == model::PackingMode::on) check_can_be_packed(job);
  if (!job.task.can_be_packed || job.config.reduction == model::Reduction::per_replica) return {};
  const auto tokens = std::ranges::find(job.task.features, job.task.tokens, &io::Feature::name);
  CHECK(tokens != job.task.features.end(), job.task.name);
  data::PackingPlan plan{.tokens = job.task.tokens,
                         .length = tokens->row.at(0),
                         .batch_size = job.config.batch_size,
                         .devices = placement.row_shards(),
                         .micro_batches = job.config.micro_batches};
  plan = data::choose_rows(source, plan);
  const bool packs = plan.share() < (mode == model::PackingMode::on ? 1 : kWorthwhile);
  log_info("train: packing {}: {} of a step need {} of {} tokens{}", packs ? "on" : "off",
           counted(plan.batch_size, "sequence"), counted(plan.rows * plan.shards(), "row"),
           plan.length, packs ? "" : ", so there is little padding to save");
  if (!packs) return {};
  return plan;
}

}  // namespace smelt::train
