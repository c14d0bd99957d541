#include "pipeline/objectives/t5_source.h"

#include "base/error.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/tasks/t5_task.h"

namespace smelt::pipeline {
namespace {

// Returns the T5 of a checkpoint. Reads the number of sentinels from t5_config.json in `folder` if
// the state does not contain it.
PretrainedT5 t5_of_checkpoint(const Json& state, const std::string& where,
                              const std::string& folder) {
  PretrainedT5 out = t5_of_settings(state, where);
  const std::string file = io::join_path(folder, "t5_config.json");
  if (out.extra_ids || !io::exists(file)) return out;
  auto config = Json::parse_or_discard(io::read_file(file, io::kSmallFileBytes));
  out.extra_ids = checkpoint::remove_t5_fields(config).extra_ids;
  return out;
}

}  // namespace

PretrainedT5 t5_of_settings(const Json& state, const std::string& where) {
  if (state.value("task", "") != "t5")
    throw UsageError(
        str(where, ": the model is a ", state.value("task", "model of another kind"), ", not a T5"),
        "name a T5's folder with train.init_from");
  PretrainedT5 out{.model = io::parse_config<model::T5Config>(state.at("model"), where),
                   .extra_ids = {}};
  if (const Json* sentinels = state.pointer("/data/window/sentinels"))
    out.extra_ids = sentinels->get<std::int64_t>();
  if (state.contains("extra_ids")) out.extra_ids = state["extra_ids"].get<std::int64_t>();
  return out;
}

model::Teacher t5_teacher_of(const Recipe&, const checkpoint::StoredModel& m,
                             model::FrozenModel held) {
  if (checkpoint::model_type_of(m.tensors) != "t5" || m.config.is_null())
    throw UsageError(str(held.where, " is not a T5 with known sizes"), "name a T5's folder");
  return model::t5_teacher(io::parse_config<model::T5Config>(m.config, m.where), std::move(held));
}

PretrainedT5 t5_in(const std::string& weights, const std::string& where) {
  checkpoint::check_weights_folder(weights);
  const std::string folder = checkpoint::model_in_run(weights, where).value_or(weights);
  if (checkpoint::is_checkpoint_path(folder))
    return t5_of_checkpoint(checkpoint::checkpoint_state(folder), folder, io::parent_path(folder));
  if (io::is_folder(folder))
    if (const auto newest = checkpoint::load_latest_state(folder))
      return t5_of_checkpoint(newest->state, folder, folder);
  const checkpoint::StoredModel m = checkpoint::open_stored_model(folder, where);
  if (checkpoint::model_type_of(m.tensors) != "t5" || m.config.is_null())
    throw UsageError(str(where, ": ", m.where, " is not a T5 with known sizes"),
                     "name a T5's folder");
  return {io::parse_config<model::T5Config>(m.config, m.where), m.t5.extra_ids};
}

}  // namespace smelt::pipeline
