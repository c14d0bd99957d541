#include "checkpoint/interop/stored_model.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/hugging_face_electra.h"
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_classifier.h"
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

namespace smelt {
namespace {

Json json_file(const std::string& path) {
  if (!exists(path)) return {};
  Json value = Json::parse_or_discard(read_file(path, kSmallFileBytes));
  return value.is_object() ? value : Json();
}

// A vocabulary that lies in one of the folders, where it is the one of the checksum.
void find_vocabulary(const std::vector<std::string>& folders, std::optional<std::uint32_t> crc,
                     StoredModel& out) {
  std::vector<std::string> paths;
  const bool is_t5 = model_type_of(out.tensors) == "t5";
  for (const std::string& folder : folders)
    if (is_t5)
      for (const char* name : {kT5VocabularyFile, "vocab.model"})
        paths.push_back(join_path(folder, name));
    else
      paths.push_back(wordpiece_file_in(folder));
  for (const std::string& path : paths) {
    if (path.empty() || !exists(path)) continue;
    if (crc && vocabulary_crc32c(path) != *crc) continue;
    out.vocab_txt = vocabulary_bytes(path);
    out.vocab = path;
    out.tokenizer = load_tokenizer_config(path);
    return;
  }
}

// What the checkpoint itself does not say.
void take_files_of(const std::string& folder, StoredModel& out) {
  const std::string path = join_path(folder, config_file_name(out));
  Json config = json_file(path);
  const bool is_t5 = model_type_of(out.tensors) == "t5";
  Json objective = take_objective(config);
  const T5Words words = take_t5_words(config);
  if (is_t5 && !out.t5.extra_ids) out.t5.extra_ids = words.extra_ids;
  if (is_t5 && out.t5.prefix.empty()) out.t5.prefix = words.prefix;
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
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (!tensor.is_whole())
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
  const std::string folder = parent_path(out.where);
  take_files_of(folder, out);
  std::vector<std::string> folders{folder};
  if (crc) folders.push_back(parent_path(folder));               // where a recipe has it
  if (crc) folders.push_back(parent_path(parent_path(folder)));  // where ELECTRA's data have it
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
    const bool number = !is_float(item.second.shape.dtype);
    if (number && item.first != "global_step")
      out.skipped.push_back(str(item.first, " (", item.second.shape, ")"));
    return number;
  });
  const std::string folder = parent_path(prefix);
  take_files_of(folder, out);
  find_vocabulary({folder}, std::nullopt, out);
  return out;
}

void take_folder(const OpenedFolder& folder, StoredModel& out, const std::string& vocabulary = {}) {
  out.tensors.insert(folder.parameters.begin(), folder.parameters.end());
  out.vocab_txt = folder.model.vocab_txt;
  if (!out.vocab_txt.empty()) out.vocab = vocabulary.empty() ? folder.vocabulary : vocabulary;
  out.tokenizer = folder.model.tokenizer;
  out.skipped.insert(out.skipped.end(), folder.unused.begin(), folder.unused.end());
}

// A generator that is read from its own folder has embeddings of its own. Where they are the
// discriminator's, bit for bit, the model has them once.
bool tie_embeddings(LazyTensors& tensors) {
  const std::string own = "generator/embeddings/", shared = "electra/embeddings/";
  std::vector<std::string> names;
  for (auto it = tensors.lower_bound(own); it != tensors.end() && it->first.starts_with(own);
       ++it) {
    const auto other = tensors.find(shared + it->first.substr(own.size()));
    if (other == tensors.end() || other->second.shape != it->second.shape ||
        other->second.read() != it->second.read())
      return false;
    names.push_back(it->first);
  }
  for (const std::string& name : names) tensors.erase(name);
  return !names.empty();
}

ElectraConfig encoder_config(const ElectraPart& part) {
  const BertConfig& d = part.encoder;
  ElectraConfig c;
  c.vocab_size = d.vocab_size;
  c.embedding_size = part.embedding_size;
  c.hidden_size = d.hidden_size;
  c.num_hidden_layers = d.num_hidden_layers;
  c.num_attention_heads = d.num_attention_heads;
  c.attention_head_size = d.attention_head_size;
  c.intermediate_size = d.intermediate_size;
  c.hidden_act = d.hidden_act;
  c.hidden_dropout_prob = d.hidden_dropout_prob;
  c.attention_probs_dropout_prob = d.attention_probs_dropout_prob;
  c.max_position_embeddings = d.max_position_embeddings;
  c.type_vocab_size = d.type_vocab_size;
  c.initializer_range = d.initializer_range;
  return c;
}

// All that shapes alone do not tell, the number of heads above all.
void check_generator(const ElectraConfig& c, const ElectraPart& generator,
                     const std::string& where) {
  if (const auto other =
          first_difference(electra_sizes(generator), electra_sizes(electra_generator_part(c))))
    throw UsageError(str(where, ": the generator's ", other->name, " is ", other->was.dump(),
                         ", beside this discriminator it must be ", other->is.dump()),
                     "take each of the two folders by itself");
}

Json electra_config_of(const ElectraPart& discriminator, const ElectraPart* generator, bool tied,
                       const std::string& where) {
  ElectraConfig c = encoder_config(discriminator);
  if (generator != nullptr) {
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    c.generator_layers = share(generator->encoder.num_hidden_layers, c.num_hidden_layers);
    c.generator_hidden_size = share(generator->encoder.hidden_size, c.hidden_size);
    c.untied_generator_embeddings = !tied;
    check_generator(c, *generator, where);
  }
  return config_json(c);
}

// The only encoder of a masked LM has the discriminator's names.
Json take_as_masked_lm(const ElectraPart& generator, LazyTensors& tensors) {
  const std::string own = "generator/";
  LazyTensors renamed;
  for (const auto& [name, tensor] : tensors)
    renamed.emplace(name.starts_with(own) ? "electra/" + name.substr(own.size()) : name, tensor);
  tensors = std::move(renamed);
  ElectraConfig c = encoder_config(generator);
  c.untied_generator = false;
  return config_json(c);
}

StoredModel of_hugging_face(const std::vector<std::string>& folders) {
  StoredModel out;
  out.form = ModelForm::hugging_face;
  out.where = folders.size() == 1 ? folders.front() : parent_path(folders.front());
  std::optional<ElectraPart> discriminator, generator;
  for (const std::string& folder : folders) {
    out.architecture = architecture_of(read_model_config(folder));
    if (is_t5_folder(folder)) {
      const OpenedT5 t5 = open_hugging_face_t5(folder);
      check_t5_tokenizer(folder);
      take_folder(t5.folder, out, t5.vocabulary);
      out.config = t5.folder.model.config;
      Json tokenizer = json_file(join_path(folder, "tokenizer_config.json"));
      out.t5 = {.extra_ids = take_t5_words(tokenizer).extra_ids, .prefix = t5.prefix};
      if (t5.extra_ids) out.t5.extra_ids = t5.extra_ids;
      continue;
    }
    const Json config = read_model_config(folder);
    const std::string where = join_path(folder, "config.json");
    if (const auto head = classifier_head(config, where)) out.objective = head_settings(*head);
    if (text_field(config, "model_type", "", where) != "electra") {
      const OpenedFolder bert = open_hugging_face_bert(folder);
      take_folder(bert, out);
      out.config = bert.model.config;
      continue;
    }
    const OpenedElectra electra = open_hugging_face_electra(folder);
    take_folder(electra.folder, out);
    (electra.part.head == ElectraPart::Head::generator ? generator : discriminator) = electra.part;
  }
  if (!discriminator) {
    if (generator) out.config = take_as_masked_lm(*generator, out.tensors);
    return out;
  }
  const bool tied = tie_embeddings(out.tensors);
  out.config =
      electra_config_of(*discriminator, generator ? &*generator : nullptr, tied, out.where);
  return out;
}

}  // namespace

// The newest that is whole: who asks for a model must not take an older one without knowing.
static std::optional<SlicedCheckpoint> newest_in(const std::string& folder,
                                                 const std::string& where) {
  auto checkpoint = load_latest_sliced_checkpoint(folder);
  if (!checkpoint) return checkpoint;
  if (const auto newest = latest_checkpoint(folder); newest != checkpoint->step)
    log_error("{}: {}, the newest, is damaged: this is the model of step {}, {}", where,
              committed_path(folder, *newest), checkpoint->step, checkpoint->path);
  return checkpoint;
}

// An index beside them has the name of a TensorFlow checkpoint's.
static void refuse_examples(const std::string& path, const std::string& where) {
  if (is_remote(path) ? !exists(path) : !std::filesystem::is_regular_file(path)) return;
  std::array<char, std::max(kRecordHeaderBytes, kTokenStoreMagic.size())> begin{};
  const std::string_view head(begin.data(), RandomAccessFile(path).read_at(0, begin));
  const bool records = begins_record(head);
  if (records || head.starts_with(kTokenStoreMagic))
    throw UsageError(str(where, ": ", path, " holds ", records ? "records (TFRecord)" : "tokens",
                         ", no checkpoint"),
                     str("smelt data inspect ", path, " says what is in it"));
}

StoredModel open_stored_model(const std::string& path, const std::string& where, bool any_names) {
  if (is_checkpoint_path(path)) return of_smelt(load_sliced_checkpoint(path));
  const bool folder = is_folder(path);
  if (!folder) refuse_examples(path, where);
  if (folder)
    if (auto checkpoint = newest_in(path, where)) return of_smelt(std::move(*checkpoint));
  if (const auto prefix = tensorflow_prefix(path)) return of_bundle(*prefix, where, any_names);
  const std::vector<std::string> folders = hugging_face_folders(path);
  if (!folders.empty()) return of_hugging_face(folders);
  if (!exists(path)) throw_missing(where, path);
  if (const auto inner = model_in_run(path, where))
    return open_stored_model(*inner, where, any_names);
  refuse_renamed_checkpoint(path, where);
  throw UsageError(
      str(where, ": ", path,
          " holds neither a checkpoint of smelt's or TensorFlow's nor config.json"),
      !folder && exists(path)
          ? "a TensorFlow checkpoint has an .index file; one without is older than TensorFlow 0.12"
          : "name a model folder, a checkpoint (…/checkpoint-1000), a TensorFlow prefix "
            "(…/bert_model.ckpt) or a Hugging Face folder");
}

void take_generator(StoredModel& model) {
  if (model_type_of(model.tensors) != "electra" || !has_generator(model.tensors)) return;
  const ElectraPart part =
      electra_generator_part(parse_config<ElectraConfig>(model.config, model.where));
  const std::string own = "electra/", shared = own + "embeddings/";
  std::erase_if(model.tensors, [&](const auto& item) {
    const bool is_shared = part.embeddings == "electra" && item.first.starts_with(shared);
    return (item.first.starts_with(own) && !is_shared) ||
           item.first.starts_with("discriminator_predictions/");
  });
  model.config = take_as_masked_lm(part, model.tensors);
}

void check_vocabulary_rows(const StoredModel& model, std::string_view where) {
  if (model.vocab.empty() || !model.config.is_object() || !model.config.contains("vocab_size"))
    return;
  check_rows(model.vocab, model.config["vocab_size"].get<std::int64_t>(),
             str(where, ": ", model.where));
}

Json take_objective(Json& config) {
  Json objective;
  if (!config.is_object() || !config.contains("objective")) return objective;
  objective = std::move(config["objective"]);
  config.erase("objective");
  return objective;
}

T5Words take_t5_words(Json& config) {
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

void put_t5_words(const T5Words& words, Json& config) {
  if (words.extra_ids) config["extra_ids"] = *words.extra_ids;
  if (!words.prefix.empty()) config["prefix"] = words.prefix;
}

std::string config_file_name(const StoredModel& model) {
  std::string type = model_type_of(model.tensors);
  if (type == "classify") type = stored_encoder_name(model);
  return type == "electra" || type == "t5" ? type + "_config.json" : "bert_config.json";
}

void require_sizes(const StoredModel& model, const std::string& where, const std::string& hint) {
  if (!model.config.is_null()) return;
  const std::string file = config_file_name(model);
  throw UsageError(str(where, ": ", model.where, ": the model's sizes are not known: there is no ",
                       file, " beside it"),
                   hint.empty() ? str("put its ", file, " beside it") : hint);
}

Json with_sizes_of_tensors(Json config, const StoredModel& model, const std::string& where) {
  const std::string file = config_file_name(model);
  if (file.starts_with("t5") && config.is_null()) {
    if (const auto sizes = t5_config_of(model.tensors)) return config_json(*sizes);
  } else if (file.starts_with("electra")) {
    return with_electra_sizes(std::move(config), model.tensors, where);
  }
  return config;
}

std::string model_type_of(const LazyTensors& tensors) {
  const auto begins = [&](const std::string& prefix) {
    const auto found = tensors.lower_bound(prefix);
    return found != tensors.end() && found->first.starts_with(prefix);
  };
  if (tensors.contains("output_bias") || begins("classifier/") || is_answer_head(tensors))
    return "classify";
  if (begins("bert/")) return "bert";
  if (begins("shared/embedding") && begins("decoder/")) return "t5";
  if (begins("electra/") || begins("generator/")) return "electra";
  return begins("encoder/embedder_block/") ? "jestimator_bert" : "";
}

bool has_generator(const LazyTensors& tensors) {
  const auto first = tensors.lower_bound("generator/");
  return first != tensors.end() && first->first.starts_with("generator/");
}

bool has_averages(const LazyTensors& tensors) {
  const auto first = tensors.lower_bound(kAveragePrefix);
  return first != tensors.end() && first->first.starts_with(kAveragePrefix);
}

std::size_t count_slots(const LazyTensors& tensors) {
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

}  // namespace smelt
