// Weights of a trained model from which another run starts (init_from).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/interop/bert_gelu.h"
#include "io/formats/json_difference.h"
#include "io/formats/safetensors.h"

namespace smelt::checkpoint {

// The weights of a model and what is known about it.
struct PretrainedWeights {
  std::string where;         // path, for error messages
  std::int64_t step = 0;     // step of the checkpoint; 0 if unknown
  io::TensorMap parameters;  // f32; keys: the original checkpoint's names; no optimizer state
  Json model;                // the model's settings in smelt's terms; null if unknown
  // {"problem": …, "labels": …} of a classification head; null if the model has no such
  // head or its labels are not known.
  Json head = nullptr;
  std::vector<std::shared_ptr<const void>> owners;  // keep the parameters alive
  // Pairs of scopes (from, to), such as {"generator/", "electra/"}. If a run has no parameters in
  // scope `from`, the weights in `from` are renamed to `to`, except those whose new name is already
  // taken.
  std::vector<std::pair<std::string, std::string>> else_under = {};
  std::string vocab_txt = {};  // content of the vocabulary file, if the folder has it
  // checksum of the vocabulary file, if a checkpoint records it
  std::optional<std::uint32_t> vocabulary_crc32c = {};
  // Compares this model with the model of a run with these settings. Returns the differences that
  // tensor shapes do not show, such as the number of heads. May be empty; always empty if `model`
  // is set.
  std::function<std::vector<io::JsonDifference>(const Json& settings)> other_model = {};
};

// Reads the weights of a smelt checkpoint, of the newest checkpoint in a model folder, of a
// TensorFlow checkpoint or of a Hugging Face folder. An ELECTRA may be a folder with discriminator/
// and generator/, or only one of the two; its generator has separate embeddings. Throws UsageError
// if the folder has another format or cannot be read.
PretrainedWeights load_weights(const std::string& folder, BertGelu gelu = BertGelu::tanh);

// Throws UsageError if load_weights() would not recognize the folder. Does not read the weights.
void check_weights_folder(const std::string& folder);

// Returns the Hugging Face folders in `folder`: the folder itself, or its discriminator/ and
// generator/. Returns an empty list if it has none of these.
std::vector<std::string> hugging_face_folders(const std::string& folder);

// Returns "<folder>/model", the model folder of a recipe's run folder, if it contains a checkpoint.
// Throws UsageError that begins with `where` if the run has no checkpoint yet.
std::optional<std::string> model_in_run(const std::string& folder, std::string_view where);

// Returns "<path>/huggingface" if `path` is the run folder of a recipe that has exported one model
// (the best weights, or their moving averages, depending on the recipe); otherwise returns `path`.
std::string exported_of(const std::string& path);

// Throws UsageError that begins with `where` if the folder is a smelt checkpoint that was renamed:
// checkpoints are recognized by the folder name.
void refuse_renamed_checkpoint(const std::string& folder, std::string_view where);

}  // namespace smelt::checkpoint
