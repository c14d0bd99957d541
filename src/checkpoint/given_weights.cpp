#include "checkpoint/given_weights.h"

#include "base/error.h"
#include "checkpoint/averages.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/hugging_face.h"
#include "checkpoint/hugging_face_electra.h"
#include "checkpoint/layout.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

// The Hugging Face folders in a folder, or itself.
std::vector<std::string> hugging_face_folders(const std::string& folder) {
  const auto is_model = [](const std::string& path) {
    return exists(join_path(path, "config.json"));
  };
  if (is_model(folder)) return {folder};
  std::vector<std::string> found;
  for (const char* part : {"discriminator", "generator"})
    if (is_model(join_path(folder, part))) found.push_back(join_path(folder, part));
  return found;
}

[[noreturn]] void throw_no_weights(const std::string& folder) {
  throw UsageError(
      str("init: ", folder, " holds neither a checkpoint nor config.json"),
      "name a model folder of smelt's, or a Hugging Face folder of a BERT or an ELECTRA");
}

void add_hugging_face(const std::string& folder, GivenWeights& out) {
  const nlohmann::json config = read_model_config(folder);
  if (text_field(config, "model_type", "") == "electra") {
    ModelFolder model = import_hugging_face_electra(folder).model;
    out.parameters.merge(model.parameters);
    out.owners.push_back(std::move(model.owner));
    out.vocab_txt = std::move(model.vocab_txt);
    out.else_under = {{"generator/", "electra/"}, {"generator/embeddings/", "electra/embeddings/"}};
    return;
  }
  HuggingFaceBert bert = import_hugging_face(folder);
  out.parameters.merge(bert.parameters);
  out.model = std::move(bert.config);
  out.owners.push_back(std::move(bert.owner));
  out.vocab_txt = std::move(bert.vocab_txt);
}

GivenWeights of_checkpoint(Checkpoint checkpoint) {
  GivenWeights out{.where = checkpoint.path,
                   .step = checkpoint.step,
                   .parameters = std::move(checkpoint.tensors),
                   .model = checkpoint.state.value("model", nlohmann::json()),
                   .owners = {}};
  if (const auto crc = checkpoint.state.find(kVocabularyCrc32c); crc != checkpoint.state.end())
    out.vocabulary_crc32c = crc->get<std::uint32_t>();
  drop_beside_weights(out.parameters);
  // "bert/pooler/dense/bias/adam_m": a slot stands below its parameter.
  std::erase_if(out.parameters, [&](const auto& item) {
    const std::size_t slash = item.first.rfind('/');
    return slash != std::string::npos && out.parameters.contains(item.first.substr(0, slash));
  });
  out.owners.push_back(std::make_shared<std::vector<SafetensorsFile>>(std::move(checkpoint.files)));
  return out;
}

}  // namespace

GivenWeights load_weights(const std::string& folder) {
  if (is_checkpoint_path(folder)) return of_checkpoint(load_checkpoint(folder));
  if (auto checkpoint = load_latest_checkpoint(folder))
    return of_checkpoint(std::move(*checkpoint));
  GivenWeights out{.where = folder, .parameters = {}, .model = {}, .owners = {}};
  for (const std::string& model : hugging_face_folders(folder)) add_hugging_face(model, out);
  if (out.owners.empty()) throw_no_weights(folder);
  return out;
}

void check_weights_folder(const std::string& folder) {
  if (is_checkpoint_path(folder)) return;
  if (!latest_checkpoint(folder) && hugging_face_folders(folder).empty()) throw_no_weights(folder);
}

}  // namespace smelt
