#include "checkpoint/interop/stored_model.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/deberta_parts.h"
#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/interop/stored_classifier.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/interop/t5_names.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/config.h"
#include "io/formats/json_difference.h"
#include "io/formats/tfrecord.h"
#include "io/formats/token_store.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::checkpoint {
namespace {

Json json_file(const std::string& path) {
  if (!io::exists(path)) return {};
  Json value = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  return value.is_object() ? value : Json();
}

// Returns the family that the tensors belong to, or BERT's if they belong to none.
const StoredFamily& family_or_bert(const io::LazyTensors& tensors) {
  const StoredFamily* family = family_of_tensors(tensors);
  return family != nullptr ? *family : family_of_encoder("bert");
}

// Loads the first vocabulary in the folders into `out`. If `crc` is set, skips vocabularies with
// another checksum.
void find_vocabulary(const std::vector<std::string>& folders, std::optional<std::uint32_t> crc,
                     StoredModel& out) {
  std::vector<std::string> paths;
  const StoredFamily& family = family_or_bert(out.tensors);
  for (const std::string& folder : folders)
    std::ranges::copy(family.vocabulary_files(folder), std::back_inserter(paths));
  for (const std::string& path : paths) {
    if (path.empty() || !io::exists(path)) continue;
    if (crc && text::vocabulary_crc32c(path) != *crc) continue;
    out.vocab_txt = text::vocabulary_bytes(path);
    out.vocab = path;
    out.tokenizer = text::load_tokenizer_config(path);
    return;
  }
}

// Sets those of `config`, `objective` and `t5` of `out` that the checkpoint itself does not
// contain, from the model's config file in `folder`, such as bert_config.json.
void take_files_of(const std::string& folder, StoredModel& out) {
  const std::string path = io::join_path(folder, config_file_name(out));
  Json config = json_file(path);
  const bool has_sentinels = family_or_bert(out.tensors).has_sentinels();
  Json objective = take_objective(config);
  const T5Words words = remove_t5_fields(config);
  if (has_sentinels && !out.t5.extra_ids) out.t5.extra_ids = words.extra_ids;
  if (has_sentinels && out.t5.prefix.empty()) out.t5.prefix = words.prefix;
  if (out.config.is_null()) out.config = with_sizes_of_tensors(std::move(config), out, path);
  if (out.objective.is_null()) out.objective = std::move(objective);
}

StoredModel of_smelt(SlicedCheckpoint checkpoint) {
  StoredModel out{.where = checkpoint.path,
                  .step = checkpoint.step,
                  .tensors = lazy_tensors(checkpoint.tensors),
                  .slices = {},
                  .settings = std::move(checkpoint.state),
                  .config = {},
                  .objective = {},
                  .vocab_txt = {},
                  .vocab = {},
                  .tokenizer = {},
                  .t5 = {},
                  .skipped = {},
                  .owners = std::move(checkpoint.owners)};
  add_discriminator_words(out.tensors);
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (!tensor.is_complete())
      for (const TensorSlice& slice : tensor.slices)
        out.slices[name].push_back(slice_text(slice.begin, slice.part.shape.dims));
  if (!out.settings.is_object()) out.settings = Json::object();
  out.config = out.settings.value("model", Json());
  out.objective = out.settings.value("objective", Json());
  if (const Json* sentinels = out.settings.pointer("/data/window/sentinels"))
    out.t5.extra_ids = *sentinels;
  if (out.settings.contains("extra_ids")) out.t5.extra_ids = out.settings["extra_ids"];
  out.t5.prefix = out.settings.value("prefix", "");
  std::optional<std::uint32_t> crc;
  if (const auto said = out.settings.find(kVocabularyCrc32c); said != out.settings.end())
    crc = said->get<std::uint32_t>();
  const std::string folder = io::parent_path(out.where);
  take_files_of(folder, out);
  std::vector<std::string> folders{folder};
  // The vocabulary may also be one folder up (models of a recipe) or two folders up (ELECTRA).
  // Files there may belong to another model, so look there only if the checksum is known.
  if (crc) folders.push_back(io::parent_path(folder));
  if (crc) folders.push_back(io::parent_path(io::parent_path(folder)));
  find_vocabulary(folders, crc, out);
  return out;
}

StoredModel of_bundle(const std::string& prefix, const std::string& where, bool any_names) {
  const TensorflowCheckpoint checkpoint(prefix);
  if (!any_names) check_variable_names(checkpoint, where);
  StoredModel out;
  out.form = ModelForm::tensorflow;
  out.where = prefix;
  out.step = checkpoint.global_step().value_or(0);
  out.skipped = checkpoint.skipped();
  out.tensors = from_original_t5(with_layer_norm_names(checkpoint.tensors()), out.skipped);
  std::erase_if(out.tensors, [&](const auto& item) {
    const bool number = !compiler::is_float(item.second.shape.dtype);
    if (number && item.first != "global_step")
      out.skipped.push_back(str(item.first, " (", item.second.shape, ")"));
    return number;
  });
  const std::string folder = io::parent_path(prefix);
  take_files_of(folder, out);
  find_vocabulary({folder}, std::nullopt, out);
  return out;
}

StoredModel of_hugging_face(const std::vector<std::string>& folders, BertGelu gelu) {
  StoredModel out;
  out.form = ModelForm::hugging_face;
  out.where = folders.size() == 1 ? folders.front() : io::parent_path(folders.front());
  for (const std::string& folder : folders) {
    const Json config = read_model_config(folder);
    out.architecture = architecture_of(config);
    if (const auto head = classifier_head(config, io::join_path(folder, "config.json")))
      out.objective = head_settings(*head);
  }
  const Json config = read_model_config(folders.front());
  family_of_config(config, io::join_path(folders.front(), "config.json")).open(folders, out);
  if (gelu == BertGelu::as_written)
    out.config = with_gelu_of_folder(std::move(out.config), folders.front());
  return out;
}

}  // namespace

void take_folder(const OpenedFolder& folder, StoredModel& out, const std::string& vocabulary) {
  out.tensors.insert(folder.parameters.begin(), folder.parameters.end());
  out.vocab_txt = folder.model.vocab_txt;
  if (!out.vocab_txt.empty()) out.vocab = vocabulary.empty() ? folder.vocabulary : vocabulary;
  out.tokenizer = folder.model.tokenizer;
  out.skipped.insert(out.skipped.end(), folder.unused.begin(), folder.unused.end());
}

// Loads the newest intact checkpoint. Logs an error if a newer one is damaged, so that the user
// notices that an older model is used.
static std::optional<SlicedCheckpoint> newest_in(const std::string& folder,
                                                 const std::string& where) {
  auto checkpoint = load_latest_sliced_checkpoint(folder);
  if (!checkpoint) return checkpoint;
  if (const auto newest = latest_checkpoint(folder); newest != checkpoint->step)
    log_error("{}: {}, the newest checkpoint, is damaged; using step {}, {}", where,
              committed_path(folder, *newest), checkpoint->step, checkpoint->path);
  return checkpoint;
}

// Throws UsageError if the path is a TFRecord or token file. Its .index file could be mistaken for
// the index of a TensorFlow checkpoint.
static void refuse_examples(const std::string& path, const std::string& where) {
  if (io::is_remote(path) ? !io::exists(path) : !std::filesystem::is_regular_file(path)) return;
  std::array<char, std::max(io::kRecordHeaderBytes, io::kTokenStoreMagic.size())> begin{};
  const std::string_view head(begin.data(), io::RandomAccessFile(path).read_at(0, begin));
  const bool records = io::begins_record(head);
  if (records || head.starts_with(io::kTokenStoreMagic))
    throw UsageError(str(where, ": ", path, " has ", records ? "records (TFRecord)" : "tokens",
                         ", expected a checkpoint"),
                     str("show its content: smelt data inspect ", path));
}

StoredModel open_stored_model(const std::string& path, const std::string& where, bool any_names,
                              BertGelu gelu) {
  if (is_checkpoint_path(path)) return of_smelt(load_sliced_checkpoint(path));
  const bool folder = io::is_folder(path);
  if (!folder) refuse_examples(path, where);
  if (folder)
    if (auto checkpoint = newest_in(path, where)) return of_smelt(std::move(*checkpoint));
  if (const auto prefix = tensorflow_prefix(path)) return of_bundle(*prefix, where, any_names);
  const std::vector<std::string> folders = hugging_face_folders(path);
  if (!folders.empty()) return of_hugging_face(folders, gelu);
  if (!io::exists(path)) io::throw_missing(where, path);
  if (const auto inner = model_in_run(path, where))
    return open_stored_model(*inner, where, any_names, gelu);
  refuse_renamed_checkpoint(path, where);
  throw UsageError(
      str(where, ": ", path, " has no smelt checkpoint, TensorFlow checkpoint or config.json"),
      !folder && io::exists(path)
          ? "use a TensorFlow checkpoint with an .index file (TensorFlow 0.12 or later)"
          : "give a model folder, a checkpoint (…/checkpoint-1000), a TensorFlow prefix "
            "(…/bert_model.ckpt) or a Hugging Face folder");
}

void check_vocabulary_rows(const StoredModel& model, std::string_view where) {
  if (model.vocab.empty() || !model.config.is_object() || !model.config.contains("vocab_size"))
    return;
  text::check_rows(model.vocab, model.config["vocab_size"].get<std::int64_t>(),
                   str(where, ": ", model.where));
}

Json take_objective(Json& config) {
  Json objective;
  if (!config.is_object() || !config.contains("objective")) return objective;
  objective = std::move(config["objective"]);
  config.erase("objective");
  return objective;
}

T5Words remove_t5_fields(Json& config) {
  T5Words out;
  if (!config.is_object()) return out;
  if (const auto found = config.find("extra_ids");
      found != config.end() && found->is_number_integer()) {
    out.extra_ids = found->get<std::int64_t>();
    config.erase(found);
  }
  if (const auto found = config.find("prefix"); found != config.end() && found->is_string()) {
    out.prefix = found->get<std::string>();
    config.erase(found);
  }
  return out;
}

void add_t5_fields(const T5Words& words, Json& config) {
  if (words.extra_ids) config["extra_ids"] = *words.extra_ids;
  if (!words.prefix.empty()) config["prefix"] = words.prefix;
}

std::string config_file_name(const StoredModel& model) {
  return family_or_bert(model.tensors).config_file();
}

void require_sizes(const StoredModel& model, const std::string& where, const std::string& hint) {
  if (!model.config.is_null()) return;
  const std::string file = config_file_name(model);
  throw UsageError(
      str(where, ": ", model.where, ": the model's sizes are unknown: its folder has no ", file),
      hint.empty() ? str("put ", file, " into that folder") : hint);
}

Json with_sizes_of_tensors(Json config, const StoredModel& model, const std::string& where) {
  return family_or_bert(model.tensors).with_sizes_of(model.tensors, std::move(config), where);
}

std::string model_type_of(const io::LazyTensors& tensors) {
  if (tensors.contains("output_bias") || any_begins(tensors, "classifier/") ||
      is_answer_head(tensors))
    return kClassifierType;
  for (const StoredFamily* family : stored_families())
    if (family->owns(tensors)) return std::string(family->name());
  return "";
}

bool has_generator(const io::LazyTensors& tensors) {
  const auto first = tensors.lower_bound("generator/");
  return first != tensors.end() && first->first.starts_with("generator/");
}

bool has_averages(const io::LazyTensors& tensors) {
  const auto first = tensors.lower_bound(model::kAveragePrefix);
  return first != tensors.end() && first->first.starts_with(model::kAveragePrefix);
}

std::size_t count_slots(const io::LazyTensors& tensors) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tensors, [&](const auto& item) { return is_slot(item.first, tensors); }));
}

std::string_view name(ModelForm form) {
  switch (form) {
    case ModelForm::tensorflow:
      return "TensorFlow";
    case ModelForm::hugging_face:
      return "Hugging Face";
    default:
      return "smelt";
  }
}

}  // namespace smelt::checkpoint
