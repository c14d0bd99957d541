#include "train/resume.h"

#include "base/error.h"
#include "data/fingerprint.h"

namespace smelt {
namespace {

void compare(const nlohmann::json& saved, const nlohmann::json& now, const std::string& path,
             const std::string& where) {
  if (saved.is_object() && now.is_object()) {
    for (const auto& [name, value] : now.items())
      if (saved.contains(name))
        compare(saved[name], value, path.empty() ? name : str(path, ".", name), where);
    return;
  }
  if (saved != now)
    throw UsageError(
        str(where, ": was made with ", path, " ", saved.dump(), ", this run has ", now.dump()),
        "use the same settings, or choose another output folder for a new run");
}

}  // namespace

nlohmann::json run_settings(const Task& task, const TrainingConfig& c, const RecordSource& source) {
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
  compare(saved, now, "", where);
}

void check_same_model(const nlohmann::json& saved, const nlohmann::json& now,
                      const std::string& where) {
  if (saved.contains("model") && now.contains("model"))
    compare(saved["model"], now["model"], "model", where);
}

}  // namespace smelt
