#include "train/resume.h"

#include "base/error.h"
#include "checkpoint/layout.h"
#include "data/fingerprint.h"
#include "format/json_difference.h"

namespace smelt {
namespace {

void refuse_difference(const nlohmann::json& saved, const nlohmann::json& now,
                       const std::string& name, const std::string& where) {
  if (const auto found = first_difference(saved, now, name))
    throw UsageError(str(where, ": was made with ", found->name, " ", found->was.dump(),
                         ", this run has ", found->is.dump()),
                     "use the same settings, or choose another output folder for a new run");
}

}  // namespace

nlohmann::json run_settings(const Task& task, const TrainingConfig& c,
                            const ExampleSource& source) {
  nlohmann::json out = task.settings;
  out["task"] = task.name;
  out["data"] = data_fingerprint(source);
  out["seed"] = c.seed;
  out["batch_size"] = c.batch_size;
  out["optimizer"] = c.optimizer.settings;
  out["optimizer"]["clip_norm"] = c.clip_norm;
  out["reduction"] = c.reduction == Reduction::global ? "global" : "per_replica";
  // There the devices' gradients are summed, not averaged: another number is another run.
  if (c.reduction == Reduction::per_replica) out["devices"] = c.devices;
  return out;
}

void check_same_run(const nlohmann::json& saved, const nlohmann::json& now,
                    const std::string& where) {
  refuse_difference(saved, now, "", where);
}

TrainedModel load_trained_model(std::string_view command, const std::string& model_dir,
                                const nlohmann::json& model) {
  auto checkpoint = is_checkpoint_path(model_dir) ? load_checkpoint(model_dir)
                                                  : load_latest_checkpoint(model_dir);
  if (!checkpoint) throw UsageError(str(command, ": no checkpoint in ", model_dir), "train first");
  std::string where = checkpoint->path;
  if (checkpoint->state.contains("model") && !model.is_null())
    refuse_difference(checkpoint->state["model"], model, "model", where);
  return {.checkpoint = std::move(*checkpoint), .where = std::move(where)};
}

}  // namespace smelt
