#include "checkpoint/interop/pretrained_weights.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/interop/deberta_parts.h"
#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/interop/t5_names.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/nn/state_names.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::checkpoint {
namespace {

// Whether the name looks like a model name on the Hugging Face hub ("bert-base-uncased",
// "google-bert/bert-base-uncased") and is not an existing path.
bool reads_as_hub_name(const std::string& name) {
  return !io::exists(name) && !io::is_remote(name) && !name.starts_with('.') &&
         !name.starts_with('/') && std::ranges::count(name, '/') <= 1 &&
         name.find(".ckpt") == name.npos;
}

[[noreturn]] void throw_no_weights(const std::string& folder) {
  refuse_renamed_checkpoint(folder, "init");
  throw UsageError(io::exists(folder)
                       ? str("init: ", folder, " has neither a checkpoint nor config.json")
                       : str("init: there is no ", folder),
                   str("give a smelt model folder, a TensorFlow checkpoint "
                       "(…/bert_model.ckpt), or a Hugging Face folder of a BERT, RoBERTa, "
                       "ModernBERT, DeBERTa, ELECTRA or T5",
                       reads_as_hub_name(folder)
                           ? "; for a model on the Hugging Face Hub write ORGANIZATION/NAME, as in "
                             "google-bert/bert-base-uncased"
                           : ""));
}

void add_hugging_face(const std::string& folder, BertGelu gelu, PretrainedWeights& out) {
  const Json config = read_model_config(folder);
  const std::string where = io::join_path(folder, "config.json");
  if (const auto head = classifier_head(config, where))
    out.head = {{"problem", word_of(head->labels.problem, io::kProblems)},
                {"labels", head->labels.names}};
  family_of_config(config, where).load(folder, out);
  if (gelu == BertGelu::as_written)
    out.model = with_gelu_of_folder(std::move(out.model), folder);
  else
    warn_of_replaced_gelu(folder);
}

PretrainedWeights of_checkpoint(SlicedCheckpoint sliced) {
  Checkpoint checkpoint = parameters_of(std::move(sliced));
  PretrainedWeights out{.where = checkpoint.path,
                        .step = checkpoint.step,
                        .parameters = std::move(checkpoint.tensors),
                        .model = checkpoint.state.value("model", Json()),
                        .owners = std::move(checkpoint.owners)};
  if (io::LazyTensors words = discriminator_words(lazy_tensors(out.parameters)); !words.empty()) {
    auto held = std::make_shared<TensorsInMemory>(load_into_memory(words));
    out.parameters.insert(held->tensors.begin(), held->tensors.end());
    out.owners.push_back(std::move(held));
  }
  if (checkpoint.state.contains("labels"))
    out.head = {{"problem", checkpoint.state.value("problem", "")},
                {"labels", checkpoint.state["labels"]}};
  if (const auto crc = checkpoint.state.find(kVocabularyCrc32c); crc != checkpoint.state.end())
    out.vocabulary_crc32c = crc->get<std::uint32_t>();
  return out;
}

// Reads the parameters and the step, without optimizer slots.
PretrainedWeights of_tensorflow(const std::string& prefix) {
  const TensorflowCheckpoint checkpoint(prefix);
  check_variable_names(checkpoint, "init");
  PretrainedWeights out{.where = prefix,
                        .step = checkpoint.global_step().value_or(0),
                        .parameters = {},
                        .model = {},
                        .owners = {}};
  std::vector<std::string> slots;
  const io::LazyTensors all = from_original_t5(with_layer_norm_names(checkpoint.tensors()), slots);
  io::LazyTensors parameters;
  for (const auto& [name, tensor] : all)
    if (compiler::is_float(tensor.shape.dtype) && !is_slot(name, all))
      parameters.emplace(name, as_dtype(tensor, compiler::DType::f32));
  auto held = std::make_shared<TensorsInMemory>(load_into_memory(parameters));
  out.parameters = held->tensors;
  out.owners.push_back(std::move(held));
  const std::string folder = io::parent_path(prefix);
  const StoredFamily* family = family_of_tensors(all);
  const std::string vocab = family != nullptr ? family->vocabulary_files(folder).front()
                                              : text::wordpiece_file_in(folder);
  if (!vocab.empty() && io::exists(vocab)) out.vocab_txt = text::vocabulary_bytes(vocab);
  return out;
}

}  // namespace

std::optional<std::string> model_in_run(const std::string& folder, std::string_view where) {
  const std::string inner = io::join_path(folder, "model");
  if (io::is_folder(inner) && latest_checkpoint(inner)) return inner;
  if (io::is_folder(folder) && io::exists(io::join_path(folder, ".stages")))
    throw UsageError(str(where, ": ", folder, ": no checkpoint yet"),
                     str("`smelt run ", folder, "` trains the model"));
  return std::nullopt;
}

std::string exported_of(const std::string& path) {
  const std::string exported = io::join_path(path, "huggingface");
  const bool is_run = io::is_folder(path) && io::exists(io::join_path(path, ".stages"));
  return is_run && io::exists(io::join_path(exported, "config.json")) ? exported : path;
}

void refuse_renamed_checkpoint(const std::string& folder, std::string_view where) {
  const std::string path = io::join_path(folder, kManifestFile);
  if (is_checkpoint_path(folder) || !io::exists(io::join_path(folder, kCommitFile)) ||
      !io::exists(path))
    return;
  const auto manifest = Json::parse_or_discard(io::read_file(path));
  if (!manifest.is_object() || !manifest.contains("step")) return;
  const std::string name = str("checkpoint-", manifest["step"].dump());
  throw UsageError(str(where, ": ", folder, " is a renamed checkpoint; its name must be ", name),
                   str("rename the folder to ", name));
}

std::vector<std::string> hugging_face_folders(const std::string& folder) {
  const auto is_model = [](const std::string& path) {
    return io::exists(io::join_path(path, "config.json"));
  };
  if (is_model(folder)) return {folder};
  std::vector<std::string> found;
  for (const char* part : {"discriminator", "generator"})
    if (is_model(io::join_path(folder, part))) found.push_back(io::join_path(folder, part));
  if (found.empty() && io::exists(io::join_path(folder, "modules.json")))
    if (const std::string encoder = encoder_folder(folder); is_model(encoder)) return {encoder};
  return found;
}

PretrainedWeights load_weights(const std::string& folder, BertGelu gelu) {
  if (is_checkpoint_path(folder)) return of_checkpoint(load_sliced_checkpoint(folder));
  if (io::is_folder(folder))
    if (auto checkpoint = load_latest_sliced_checkpoint(folder))
      return of_checkpoint(std::move(*checkpoint));
  if (const auto prefix = tensorflow_prefix(folder)) return of_tensorflow(*prefix);
  PretrainedWeights out{.where = folder, .parameters = {}, .model = {}, .owners = {}};
  for (const std::string& model : hugging_face_folders(folder)) add_hugging_face(model, gelu, out);
  if (!out.owners.empty()) return out;
  if (const auto inner = model_in_run(folder, "init")) return load_weights(*inner, gelu);
  throw_no_weights(folder);
}

void check_weights_folder(const std::string& folder) {
  if (is_checkpoint_path(folder)) return;
  if (io::is_folder(folder) && latest_checkpoint(folder)) return;
  if (tensorflow_prefix(folder) || !hugging_face_folders(folder).empty()) return;
  if (!model_in_run(folder, "init")) throw_no_weights(folder);
}

}  // namespace smelt::checkpoint
