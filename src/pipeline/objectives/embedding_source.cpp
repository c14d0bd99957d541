#include "pipeline/objectives/embedding_source.h"

#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "pipeline/objectives/encoder_source.h"

namespace smelt::pipeline {

model::Encoder encoder_to_embed_in(const std::string& weights, const std::string& where) {
  return encoder_in(weights, where, checkpoint::BertGelu::as_written);
}

model::Encoder encoder_to_embed(const checkpoint::StoredModel& m) {
  const model::Encoder encoder = encoder_of(m);
  if (m.form != checkpoint::ModelForm::hugging_face || model::encoder_name(encoder) != "bert")
    return encoder;
  const Json config = checkpoint::with_gelu_of_folder(model::encoder_config_json(encoder), m.where);
  return model::parse_encoder("bert", config, m.where);
}

io::Pooling pooling_in_source(const std::string& weights) {
  if (weights.empty() || !io::is_folder(weights)) return {};
  if (const auto form = checkpoint::sentence_transformers_form(weights)) return form->pooling;
  const std::string folder = checkpoint::model_in_run(weights, "init").value_or(weights);
  if (const auto newest = checkpoint::load_latest_state(folder))
    if (const Json* pooling = newest->state.pointer("/embedding/pooling"))
      return io::field_choice<io::Pooling>(newest->path, pooling->get<std::string>());
  return {};
}

}  // namespace smelt::pipeline
