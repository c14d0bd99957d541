#include "checkpoint/interop/convert.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/interop/stored_classifier.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/interop/t5_names.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "io/formats/crc32c.h"
#include "io/formats/json_difference.h"
#include "model/models/bert_config.h"
#include "model/nn/state_names.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::checkpoint {
namespace {

ModelForm form_of(const ConvertJob& job) {
  if (job.form) return *job.form;
  if (is_checkpoint_path(job.to)) return ModelForm::smelt;
  if (io::path_name(job.to).find(".ckpt") != std::string::npos) return ModelForm::tensorflow;
  throw UsageError(str("convert: ", job.to, ": cannot infer the format from the name"),
                   "give --to smelt, tf, hf or onnx");
}

[[noreturn]] void throw_exists(const std::string& path) {
  throw UsageError(str("convert: ", path, " already exists"), "remove it, or give another name");
}

// Loads the config and the vocabulary that the job names. They replace those from the checkpoint's
// folder.
void take_files(const ConvertJob& job, StoredModel& model) {
  if (!job.config.empty()) {
    model.config = Json::parse_or_discard(io::read_file(job.config, io::kSmallFileBytes));
    if (!model.config.is_object())
      throw UsageError(str("convert: ", job.config, " is not a JSON object"),
                       "give a bert_config.json, an electra_config.json or a t5_config.json");
    model.config = with_sizes_of_tensors(std::move(model.config), model, job.config);
  } else if (!job.model.is_null()) {
    model.config = job.model;
  }
  if (Json objective = take_objective(model.config); !objective.is_null())
    model.objective = std::move(objective);
  if (!job.vocab.empty()) {
    if (text::is_tokenizer_json(job.vocab) && !text::is_sentencepiece_file(job.vocab) &&
        !text::is_subword_file(job.vocab))
      text::load_tokenizer_json(job.vocab).vocabulary.check_fits_text("convert: vocab.txt");
    model.vocab_txt = text::vocabulary_bytes(job.vocab);
    model.vocab = job.vocab;
    model.tokenizer = text::load_tokenizer_config(job.vocab);
    const auto said =
        model.settings.is_object() ? model.settings.find(kVocabularyCrc32c) : model.settings.end();
    if (model.settings.is_object() && said != model.settings.end() &&
        *said != text::vocabulary_crc32c(model.vocab))
      throw UsageError(
          str("convert: ", job.vocab, " is not the vocabulary of ", model.where, ": its crc32c is ",
              text::vocabulary_crc32c(model.vocab), ", not ", said->dump()),
          "give the vocabulary that the model was trained with");
  }
  if (model.tokenizer)
    text::check_flags({.lower_case = job.lower_case}, *model.tokenizer, model.where);
  else if (job.lower_case)
    model.tokenizer = text::options_of({.lower_case = job.lower_case});
}

// Returns the tokenizer options; if none are stored, infers them from the vocabulary's pieces.
text::TokenizerOptions tokenizer_of(const StoredModel& model, text::ControlCharacters control) {
  if (model.tokenizer) return *model.tokenizer;
  const text::TokenizerOptions options = text::options_of(
      text::case_of(text::vocabulary_from_bytes(model.vocab_txt, model.where + ": vocab.txt"),
                    {.control = control}));
  log_info(
      "convert: do_lower_case {}{}, inferred from the vocabulary; use --lower-case to override",
      options.lower_case,
      options.lower_case && !options.strips_accents() ? ", strip_accents false" : "");
  return options;
}

// Returns the family that determines the model's config and vocabulary files (for a classifier, the
// family of its encoder); null if there is no such family.
const StoredFamily* files_family(const StoredModel& model) {
  return family_of_tensors(model.tensors);
}

// Returns the settings to store in a new smelt checkpoint. They have the same fields as those of a
// training run, because a run that resumes from the checkpoint compares them with its own.
Json settings_of(const StoredModel& model, const std::string& type) {
  if (model.settings.is_object()) return model.settings;
  Json out{{"converted_from", model.where}};
  if (!type.empty()) out["task"] = type;
  if (type == kClassifierType)
    out.update(classifier_settings(stored_encoder_name(model), stored_head(model)));
  const StoredFamily* family = files_family(model);
  if (!model.config.is_null())
    out["model"] = family ? family->full_config(model.config, model.where) : model.config;
  if (!model.objective.is_null() && type != kClassifierType) out["objective"] = model.objective;
  const bool has_sentinels = family && family->has_sentinels();
  if (has_sentinels) add_t5_fields(model.t5, out);
  if (!model.vocab_txt.empty())
    out[kVocabularyCrc32c] =
        has_sentinels ? text::vocabulary_crc32c(model.vocab) : io::crc32c(model.vocab_txt);
  return out;
}

std::string vocabulary_name(const StoredModel& model) {
  if (text::is_subword_json(model.vocab_txt)) return "tokenizer.json";
  const StoredFamily* family = files_family(model);
  return family ? family->vocabulary_file() : "vocab.txt";
}

// Returns the name of the config file, such as "bert_config.json".
std::string name_beside(const StoredModel& model) {
  const StoredFamily* family = files_family(model);
  return str(family ? family->name() : "", "_config.json");
}

// Throws UsageError if the folder has a different config or vocabulary under the file names that
// readers of the converted model look for.
void check_beside(const std::string& folder, const StoredModel& model) {
  const std::string config = io::join_path(folder, name_beside(model));
  const std::string vocab = io::join_path(folder, vocabulary_name(model));
  constexpr const char* kHint = "choose another folder, or move that file away";
  if (!model.vocab_txt.empty() && io::exists(vocab) && io::read_file(vocab) != model.vocab_txt)
    throw UsageError(str("convert: ", vocab, " exists and is not the vocabulary of ", model.where),
                     kHint);
  if (model.config.is_null() || !io::exists(config)) return;
  Json there = Json::parse_or_discard(io::read_file(config, io::kSmallFileBytes));
  (void)remove_t5_fields(there);
  if (const auto other = io::first_difference(there, model.config))
    throw UsageError(str("convert: ", config, " exists with another ", other->name, ": ",
                         other->was.dump(), ", but ", model.where, " has ", other->is.dump()),
                     kHint);
}

void put_beside(const ConvertJob& job, const std::string& folder, const StoredModel& model,
                const std::string& type) {
  if (!job.beside || type.empty()) return;
  const std::string config = io::join_path(folder, name_beside(model));
  const std::string vocab = io::join_path(folder, vocabulary_name(model));
  if (!model.config.is_null() && !io::exists(config)) {
    Json said = model.config;
    files_family(model)->put_beside_config(model, said);
    io::write_file(config, said.dump(2) + "\n");
  }
  if (model.vocab_txt.empty() || io::exists(vocab)) return;
  io::write_file(vocab, model.vocab_txt);
  const bool has_sentinels = files_family(model)->has_sentinels();
  if (const std::string beside = has_sentinels ? text::config_beside_copy(model.vocab) : "";
      !beside.empty())
    io::write_file(io::join_path(folder, "tokenizer_config.json"), beside);
  if (model.tokenizer && !has_sentinels && !text::is_subword_json(model.vocab_txt))
    text::save_tokenizer_config(vocab, *model.tokenizer);
  else if (!model.vocab.empty())
    text::store_segment_command(vocab, text::segment_command_of(model.vocab, {}));
}

std::string to_smelt(const ConvertJob& job, const StoredModel& model, const std::string& type) {
  if (job.dtype != compiler::DType::f32)
    throw UsageError("convert: smelt checkpoints store only f32 parameters",
                     "remove --dtype, or choose another --to");
  const bool named = is_checkpoint_path(job.to);
  std::string folder = named ? io::parent_path(job.to) : job.to;
  if (folder.empty()) folder = ".";  // `to` has no parent path
  const std::int64_t step = named ? *step_of(io::path_name(job.to)) : model.step;
  const std::string path = checkpoint_path(folder, step);
  // prevents a run in this folder from resuming from a half-written checkpoint
  const io::FolderLock lock(folder, "convert");
  if (io::exists(path)) throw_exists(path);
  check_beside(folder, model);
  const TensorsInMemory held = load_into_memory(model.tensors);
  save_checkpoint(folder, step, held.tensors, settings_of(model, type), {.max_to_keep = 0});
  put_beside(job, folder, model, type);
  return path;
}

std::string to_tensorflow(const ConvertJob& job, const StoredModel& model,
                          const std::string& type) {
  if (io::exists(io::append_to_path(job.to, io::kBundleIndexSuffix))) throw_exists(job.to);
  if (io::is_folder(job.to))
    throw UsageError(str("convert: ", job.to, " is a folder, expected a prefix"),
                     str("give a prefix in it, such as ", io::join_path(job.to, "model.ckpt")));
  check_beside(io::parent_path(job.to), model);
  io::LazyTensors tensors = to_original_t5(model.tensors);
  if (job.slots && !job.averages && (model.step > 0 || count_slots(tensors) > 0)) {
    std::vector<std::byte> bytes(sizeof model.step);
    std::memcpy(bytes.data(), &model.step, bytes.size());
    tensors.emplace("global_step",
                    io::LazyTensor{{compiler::DType::s64, {}}, [bytes] { return bytes; }});
  }
  write_tensorflow_checkpoint(job.to, tensors);
  note_tensorflow_checkpoint(job.to);
  put_beside(job, io::parent_path(job.to), model, type);
  return job.to;
}

void to_classifier_folder(const ConvertJob& job, const StoredModel& model, const FolderForm& form) {
  const ClassifierHead head = stored_head(model);
  HuggingFaceClassifier out{
      .encoder = model::parse_encoder(stored_encoder_name(model), model.config, model.where),
      .labels = head.labels,
      .dropout = head.dropout,
      .seq_length = head.seq_length,
      .answers = head.answers,
      .folder = {}};
  out.folder.vocab_txt = model.vocab_txt;
  out.folder.tokenizer = *model.tokenizer;
  export_hugging_face(job.to, std::move(out), model.tensors, form);
}

std::string to_hugging_face(const ConvertJob& job, const StoredModel& model,
                            const std::string& type) {
  const StoredFamily* family = files_family(model);
  if (family == nullptr || family->model_types().empty())
    throw UsageError(str("convert: ", model.where, ": transformers has no class for ",
                         type.empty() ? "this model" : "JEstimator's BERT"),
                     "give --to tf or smelt");
  if (io::exists(job.to) && !io::list_folder(job.to).empty()) throw_exists(job.to);
  if (model.vocab_txt.empty())
    throw UsageError(
        str("convert: ", model.where, ": found no ", vocabulary_name(model), " in its folder"),
        "give --vocab");
  require_sizes(model, "convert", "give --config");
  const FolderForm form{.dtype = job.dtype, .shard_bytes = job.shard_bytes};
  StoredModel complete = model;
  if (!family->has_sentinels()) complete.tokenizer = tokenizer_of(model, family->control());
  if (type == kClassifierType)
    to_classifier_folder(job, complete, form);
  else
    family->write(job.to, complete, form);
  return job.to;
}

// The original programs, which read TensorFlow checkpoints, have only the tanh approximation.
BertGelu gelu_for(ModelForm form) {
  return form == ModelForm::tensorflow ? BertGelu::tanh : BertGelu::as_written;
}

// Returns whether the source is an embedding model of sentence-transformers.
bool has_modules(const ConvertJob& job, const StoredModel& model) {
  return model.form == ModelForm::hugging_face &&
         (is_sentence_transformer(model.where) || is_sentence_transformer(job.from));
}

void take_averages_of(StoredModel& model) {
  if (!model::put_averages_in_place(model.tensors))
    throw UsageError(str("convert: ", model.where, " has no moving averages"), "remove --averages");
}

}  // namespace

Converted convert_checkpoint(const ConvertJob& job) {
  const ModelForm form = form_of(job);
  StoredModel model = open_stored_model(job.from, "convert", false, gelu_for(form));
  if (model.form == ModelForm::hugging_face && gelu_for(form) == BertGelu::tanh)
    warn_of_replaced_gelu(model.where);
  take_files(job, model);
  check_vocabulary_rows(model, "convert");
  if (job.averages) take_averages_of(model);
  const std::string type = model_type_of(model.tensors);
  Converted out{.from = model.form,
                .to = form,
                .where_from = model.where,
                .where_to = {},
                .step = model.step,
                .left_out = model.skipped};
  if (has_modules(job, model))
    out.left_out.push_back("modules.json and the pooling module of sentence-transformers");
  const std::size_t slots = count_slots(model.tensors);
  const bool keep = job.slots && !job.averages && form != ModelForm::hugging_face;
  if (!keep && slots > 0)
    out.left_out.push_back(str(slots, " optimizer slots and moving averages"));
  const io::LazyTensors all = model.tensors;
  if (!keep)
    std::erase_if(model.tensors, [&](const auto& item) { return is_slot(item.first, all); });
  const compiler::DType dtype = form == ModelForm::hugging_face ? compiler::DType::f32 : job.dtype;
  for (auto& [name, tensor] : model.tensors) tensor = as_dtype(std::move(tensor), dtype);
  out.slots = keep ? slots : 0;
  out.parameters = model.tensors.size() - out.slots;
  if (out.parameters == 0)
    throw UsageError(str("convert: ", model.where, " has no floating-point tensors"),
                     "give a checkpoint of a model");
  const auto write = form == ModelForm::smelt        ? to_smelt
                     : form == ModelForm::tensorflow ? to_tensorflow
                                                     : to_hugging_face;
  out.where_to = write(job, model, type);
  return out;
}

}  // namespace smelt::checkpoint
