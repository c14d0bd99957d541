#include "pipeline/objectives/embedding_source.h"

#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "pipeline/objectives/encoder_source.h"

namespace smelt::pipeline {
namespace {

// Returns the encoder with gelu by erf if `folder` is that of a BERT which states it.
model::Encoder with_written_gelu(const model::Encoder& encoder, const std::string& folder) {
  if (model::encoder_name(encoder) != "bert") return encoder;
  const Json config = checkpoint::with_gelu_of_folder(model::encoder_config_json(encoder), folder);
  return model::parse_encoder("bert", config, folder);
}

}  // namespace

model::Encoder encoder_to_embed_in(const std::string& weights, const std::string& where) {
  if (checkpoint::is_checkpoint_path(weights)) return encoder_in(weights, where);
  const auto folders = checkpoint::hugging_face_folders(weights);
  if (folders.size() != 1) return encoder_in(weights, where);
  checkpoint::compute_gelu_by_erf(folders.front());
  return with_written_gelu(encoder_in(weights, where), folders.front());
}

model::Encoder encoder_to_embed(const checkpoint::StoredModel& m) {
  if (m.form != checkpoint::ModelForm::hugging_face) return encoder_of(m);
  return with_written_gelu(encoder_of(m), m.where);
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
