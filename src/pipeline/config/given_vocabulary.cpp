#include "pipeline/config/given_vocabulary.h"

#include <array>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unigram_json.h"
#include "train/trainer.h"

namespace smelt::pipeline {
namespace {

// File names of vocabularies, in the order in which they are searched for.
constexpr std::array kVocabularyNames{"vocab.txt", checkpoint::kT5VocabularyFile, "vocab.model",
                                      "tokenizer.json", text::kEncoderSpmFile};

// Returns the path of the vocabulary of a checkpoint, or of the newest checkpoint in a folder;
// nullopt if it is missing or its checksum differs.
std::optional<std::string> vocabulary_of_checkpoint(const std::string& weights) {
  const bool one = checkpoint::is_checkpoint_path(weights);
  const std::string folder = one ? io::parent_path(weights) : weights;
  Json state;
  if (one)
    state = checkpoint::checkpoint_state(weights);
  else if (const auto newest = checkpoint::load_latest_state(weights))
    state = newest->state;
  std::optional<std::uint32_t> crc;
  if (const auto stored = state.find(checkpoint::kVocabularyCrc32c); stored != state.end())
    crc = stored->get<std::uint32_t>();
  for (const std::string& place : {folder, io::parent_path(folder)})
    for (const char* name : kVocabularyNames) {
      const std::string path = io::join_path(place, name);
      if (!io::exists(path) || (!crc && place != folder)) continue;
      if (!crc || text::vocabulary_crc32c(path) == *crc) return path;
    }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> vocabulary_beside(const std::string& weights) {
  if (const auto model = checkpoint::model_in_run(weights, "train.init_from"))
    return vocabulary_beside(*model);
  if (checkpoint::is_checkpoint_path(weights) ||
      (io::is_folder(weights) && checkpoint::latest_checkpoint(weights)))
    return vocabulary_of_checkpoint(weights);
  std::vector<std::string> folders;
  if (const auto prefix = checkpoint::tensorflow_prefix(weights))
    folders = {io::parent_path(*prefix)};
  else
    folders = checkpoint::hugging_face_folders(weights);
  for (const std::string& folder : folders)
    for (const char* name : kVocabularyNames)
      if (std::string path = io::join_path(folder, name); io::exists(path)) return path;
  for (const std::string& folder : folders)
    if (std::string path = text::wordpiece_file_in(folder); !path.empty()) return path;
  return std::nullopt;
}

std::optional<checkpoint::SavedState> state_to_resume(const Recipe& r) {
  check_stored_type(r);
  return r.anew ? std::nullopt : checkpoint::load_latest_state(RecipePaths(r).model_dir);
}

bool has_begun(const Recipe& r) {
  const RecipePaths paths(r);
  return !r.anew && io::exists(paths.vocab) &&
         checkpoint::latest_checkpoint(paths.model_dir).has_value();
}

std::string given_vocabulary(const Recipe& r) {
  if (!r.vocab.file.empty() || r.train.init_from.empty() || !r.type->has_vocabulary())
    return r.vocab.file;
  try {
    checkpoint::check_weights_folder(r.train.init_from);
  } catch (const UsageError&) {
    // A run that has begun does not need the weights: its vocabulary stage accepts missing inputs.
    if (!has_begun(r)) throw;
    return io::join_path(r.train.init_from, kVocabularyNames.front());
  }
  if (auto found = vocabulary_beside(r.train.init_from)) {
    const std::string folder = io::parent_path(*found);
    const std::string config = io::join_path(folder, "config.json");
    if (io::exists(config))
      checkpoint::family_of_config(checkpoint::read_model_config(folder), config)
          .check_tokenizer(folder);
    return *found;
  }
  throw UsageError(
      str("train.init_from: no vocabulary found for ", r.train.init_from,
          ", and vocab.file is not set: a new vocabulary would not match its embeddings"),
      r.type->special_pieces.empty()
          ? "name the vocabulary of the weights with --set vocab.file=…/spiece.model"
          : "name the vocabulary of the weights with --set vocab.file=…/vocab.txt");
}

std::optional<std::string> vocabulary_in_run(const std::string& run) {
  for (const char* name : {"vocab.txt", "tokenizer.json"})
    if (std::string path = io::join_path(run, name); io::exists(path)) return path;
  return std::nullopt;
}

namespace {

// Returns whether the vocabulary in the recipe's folder is the tokenizer.json of a Unigram or BPE
// model; nullopt if the folder has no vocabulary, or its run is to be overwritten.
std::optional<bool> stored_vocabulary_is_subword(const Recipe& r) {
  const auto own = r.anew ? std::nullopt : vocabulary_in_run(r.out);
  if (!own) return std::nullopt;
  return io::path_name(*own) == "tokenizer.json";
}

// Returns whether the existing vocabulary is a Unigram or BPE model. Checks vocab.file first,
// because it may have changed since the run began, and the weights last, because reading them may
// be slow.
bool vocabulary_is_subword(const Recipe& r) {
  const bool is_named = !r.vocab.file.empty();
  if (!is_named && r.train.init_from.empty()) return false;  // vocab.type decides
  if (is_named && io::exists(r.vocab.file)) return text::is_subword_file(r.vocab.file);
  if (const auto own = stored_vocabulary_is_subword(r)) return *own;
  if (is_named) return false;
  const auto beside = vocabulary_beside(r.train.init_from);
  return beside && text::is_subword_file(*beside);
}

}  // namespace

void set_vocabulary_type(Recipe& r) {
  if (r.vocab.type != "wordpiece" || r.type->sentencepiece || !r.type->has_vocabulary()) return;
  // Missing or unreachable files are not reported here; the stage that reads them reports them.
  const auto reachable = [&](const auto& answer) -> std::optional<bool> {
    try {
      return answer(r);
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  auto is_subword = reachable(vocabulary_is_subword);
  if (!is_subword && !io::is_remote(r.out)) is_subword = reachable(stored_vocabulary_is_subword);
  if (is_subword.value_or(false)) r.vocab.type = "auto";
}

Recipe with_existing_size(Recipe r) {
  if (const std::string given = given_vocabulary(r); !given.empty()) {
    const std::string own = RecipePaths(r).vocab;
    const std::string vocab = !io::exists(given) && has_begun(r) ? own : given;
    r.vocab.size = text::load_tokenizer(vocab, {})->size();
    r.type->check(r);
    if (r.type->reads == Reads::rows && r.program->job)
      if (const Json& model = r.program->job->task.settings.value("model", Json());
          model.is_object() && model.contains("vocab_size"))
        text::check_rows(vocab, model["vocab_size"].get<std::int64_t>(), "vocab");
  }
  return r;
}

void warn_about_ignored_size(const Recipe& r, const std::string& given, std::int64_t pieces) {
  // A recipe stored in a run's folder sets every field. The user need not have set a default value.
  const std::int64_t size = r.sections.at("vocab").at("size");
  if (!r.is_set("vocab.size") || size == VocabSection().size || size == pieces) return;
  log_warning("vocab.size {} is ignored: {} has {} pieces", size, given, pieces);
}

}  // namespace smelt::pipeline
