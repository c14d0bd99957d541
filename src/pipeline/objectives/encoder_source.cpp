#include "pipeline/objectives/encoder_source.h"

#include <optional>

#include "base/error.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_path.h"

namespace smelt::pipeline {
namespace {

// Returns the encoder in the settings of a smelt checkpoint. The type of encoder is `encoder` in a
// classifier's settings, otherwise `task`.
model::Encoder by_settings(const Json& settings, const std::string& where) {
  return model::parse_encoder(settings.value("encoder", settings.value("task", std::string())),
                              settings.value("model", Json::object()), where);
}

}  // namespace

model::Encoder encoder_of(const checkpoint::StoredModel& m) {
  if (m.settings.is_object() && m.settings.contains("task") && m.settings.contains("model"))
    return by_settings(m.settings, m.where);
  checkpoint::require_sizes(m, "model");
  const checkpoint::StoredFamily* family = checkpoint::family_of_tensors(m.tensors);
  return model::parse_encoder(family != nullptr ? family->name() : "", m.config, m.where);
}

model::Encoder encoder_in(const std::string& weights, const std::string& where,
                          checkpoint::BertGelu gelu) {
  checkpoint::check_weights_folder(weights);
  const std::string folder = checkpoint::model_in_run(weights, where).value_or(weights);
  if (checkpoint::is_checkpoint_path(folder))
    return by_settings(checkpoint::checkpoint_state(folder), folder);
  if (io::is_folder(folder))
    if (const auto newest = checkpoint::load_latest_state(folder))
      return by_settings(newest->state, folder);
  return encoder_of(checkpoint::open_stored_model(folder, where, false, gelu));
}

FieldValues sizes_of_pretrained(const FieldValues& set,
                                const std::function<Json(const std::string& init)>& sizes_of) {
  const auto init = set.find("train.init_from");
  if (init == set.end() || init->second.empty()) return {};
  if (io::is_remote(init->second) && !io::is_hub_path(init->second)) return {};
  FieldValues out;
  try {
    const Json sizes = sizes_of(init->second);
    for (const auto& [name, value] : sizes.items()) {
      const bool of_training =
          name.find("dropout") != std::string::npos || name == "initializer_range";
      // vocab_size follows from the vocabulary. attention_head_size is only in pruned models.
      if (of_training || name == "vocab_size" || name == "attention_head_size") continue;
      out.emplace("model." + name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  } catch (const Error&) {
    return {};  // training reports the problem with the weights
  }
  return out;
}

}  // namespace smelt::pipeline
