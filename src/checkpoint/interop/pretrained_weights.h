// The weights of a trained model, for another run to begin with.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "io/formats/json_difference.h"
#include "io/formats/safetensors.h"

namespace smelt {

struct PretrainedWeights {
  std::string where;      // to begin messages with
  std::int64_t step = 0;  // of a checkpoint
  TensorMap parameters;   // f32, by the original checkpoint's names; nothing of the optimizer's
  Json model;  // the settings of the model; null where they are not known in smelt's words
  // {"problem": …, "labels": …} of a head that scores whole texts; null: it has none, or does not
  // say it.
  Json head = nullptr;
  std::vector<std::shared_ptr<const void>> owners;  // keep the parameters alive
  // "generator/", "electra/": a run that has nothing under the first name takes what is there under
  // the second, where that is not given itself.
  std::vector<std::pair<std::string, std::string>> else_under = {};
  std::string vocab_txt = {};                           // the vocabulary, where its folder has it
  std::optional<std::uint32_t> vocabulary_crc32c = {};  // of its file, where a checkpoint says it
  // How the model of a run with these settings is another one in what shapes do not tell; of
  // weights whose `model` is null. Empty: not known.
  std::function<std::vector<JsonDifference>(const Json& settings)> other_model = {};
};

// From one checkpoint of smelt's, from a model folder, its newest checkpoint, from a TensorFlow
// checkpoint or a folder of one, or from a Hugging Face folder of a BERT or of an ELECTRA: one with
// config.json, or one with discriminator/ and generator/, or either. An ELECTRA's generator comes
// with embeddings of its own, and may be the only encoder. UsageError when the folder is none of
// these or cannot be read.
PretrainedWeights load_weights(const std::string& folder);

// UsageError when the folder is none of these, without reading the weights.
void check_weights_folder(const std::string& folder);

// The Hugging Face folders in a folder: itself, or those of an ELECTRA's two parts.
std::vector<std::string> hugging_face_folders(const std::string& folder);

// "<folder>/model" where that holds checkpoints, as a recipe's folder has it. UsageError beginning
// with `where` for a recipe's folder without one yet.
std::optional<std::string> model_in_run(const std::string& folder, std::string_view where);

// What a recipe's folder has exported, which is its best weights or their averages where it says
// so:
// "<folder>/huggingface" where that is one model. Any other path as it is.
std::string exported_of(const std::string& path);

// UsageError beginning with `where` for a whole checkpoint of smelt's whose folder was renamed: a
// folder's name is what says that it is one.
void refuse_renamed_checkpoint(const std::string& folder, std::string_view where);

}  // namespace smelt
