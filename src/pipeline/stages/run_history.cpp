#include "pipeline/stages/run_history.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/incremental/stage.h"

namespace smelt::pipeline {
namespace {

// Returns the files whose content identifies the weights. For a checkpoint this is only its marker
// file, which contains the checksum of the manifest.
std::vector<std::string> weight_files(const std::string& weights) {
  if (weights.empty()) return {};
  try {
    checkpoint::check_weights_folder(weights);
  } catch (const UsageError&) {
    return {weights};
  }
  const std::string place = checkpoint::model_in_run(weights, "train.init_from").value_or(weights);
  if (checkpoint::is_checkpoint_path(place)) return {io::join_path(place, checkpoint::kCommitFile)};
  if (const auto newest =
          io::is_folder(place) ? checkpoint::latest_checkpoint(place) : std::nullopt)
    return {io::join_path(checkpoint::committed_path(place, *newest), checkpoint::kCommitFile)};
  if (const auto prefix = checkpoint::tensorflow_prefix(place))
    return io::match_pattern(*prefix + ".*", "train.init_from");
  std::vector<std::string> out;
  for (const std::string& folder : checkpoint::hugging_face_folders(place))
    for (const std::string& name : io::list_folder(folder))
      if (name == "config.json" || name.ends_with(".safetensors") || name.ends_with(".bin") ||
          name.ends_with(".msgpack"))
        out.push_back(io::join_path(folder, name));
  return out;
}

// Returns the settings that affect what the model learns.
Json learning_settings(const Recipe& r) {
  Json train = r.sections.at("train"), model = r.sections.at("model");
  for (const char* free :
       {"init_from", "device", "devices", "memory.layers", "memory.remat_policy",
        "memory.attention_rows", "memory.logits_mb", "parallelism.mesh", "parallelism.rules",
        "parallelism.shard_optimizer_state", "gradient_accumulation_steps", "packing",
        "checkpoint.save_interval_steps", "checkpoint.save_interval_minutes",
        "checkpoint.max_to_keep", "checkpoint.keep_period", "hang_minutes", "logging_steps"})
    train.erase(free);
  model.erase("like");
  return {{"train", train}, {"model", model}};
}

Stage beginning_of(const Recipe& r, Json settings) {
  std::vector<std::string> files = weight_files(r.train.init_from);
  for (std::string& file : weight_files(r.model.value("like", "")))
    files.push_back(std::move(file));
  return {.name = "weights",
          .settings = std::move(settings),
          .inputs = [files] { return files; },
          .outputs = [] { return std::vector<std::string>(); },
          .make = [] {}};
}

std::optional<std::string> begun_but(const Recipe& r, Json settings) {
  if (!checkpoint::latest_checkpoint(RecipePaths(r).model_dir)) return std::nullopt;
  return changed_since(r.out, beginning_of(r, std::move(settings)));
}

}  // namespace

void store_start_settings(const Recipe& r) {
  note_stage(r.out, beginning_of(r, learning_settings(r)));
}

std::optional<std::string> changes_since_start(const Recipe& r) {
  return begun_but(r, learning_settings(r));
}

std::optional<std::string> changed_initial_weights(const Recipe& r) {
  return begun_but(r, Json::object());
}

}  // namespace smelt::pipeline
