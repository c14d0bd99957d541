#include "checkpoint/interop/model_folder.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/nearest_name.h"
#include "base/run_program.h"
#include "checkpoint/interop/folder_weights.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/lfs_pointer.h"
#include "io/filesystem/path.h"
#include "model/models/encoder.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kPositions = "position_embedding_type", *kAbsolute = "absolute",
                     *kEpsilon = "layer_norm_eps";

// Returns the vocabulary with the added tokens.
text::Vocabulary vocabulary_of(const ModelFolder& model) {
  return text::vocabulary_from_bytes(
      model.vocab_txt, text::is_subword_json(model.vocab_txt) ? "tokenizer.json" : "vocab.txt",
      model.tokenizer.added);
}

const char* torch_dtype(compiler::DType dtype) {
  return dtype == compiler::DType::bf16  ? "bfloat16"
         : dtype == compiler::DType::f16 ? "float16"
                                         : "float32";
}

// Returns model.config with the fields added that all encoders have, and with null ids of special
// tokens replaced by the vocabulary's. Throws UsageError if the vocabulary has more than vocab_size
// tokens or lacks a special token.
Json whole_config(const ModelFolder& model) {
  const text::Vocabulary vocabulary = vocabulary_of(model);
  const std::int64_t vocab_size = model.config.at("vocab_size");
  if (vocabulary.rows() > vocab_size)
    throw UsageError(str(vocabulary.origin(), ": ", vocabulary.rows(),
                         " tokens exceed the config's vocab_size ", vocab_size),
                     "use the vocabulary that the model was trained with");
  for (const std::string_view token : text::kSpecialTokens)
    if (token != "[PAD]" && !vocabulary.find(token))
      throw UsageError(str(vocabulary.origin(), ": no ", token),
                       "use the vocabulary that the model was trained with");
  Json config = {{kEpsilon, model::kLayerNormEpsilon},
                 {"pad_token_id", vocabulary.find("[PAD]").value_or(0)},
                 {kPositions, kAbsolute},
                 {"tie_word_embeddings", true}};
  config.update(model.config);
  for (const auto& [field, token] : {std::pair{"bos_token_id", "[CLS]"},
                                     {"cls_token_id", "[CLS]"},
                                     {"eos_token_id", "[SEP]"},
                                     {"sep_token_id", "[SEP]"}})
    if (const auto found = config.find(field); found != config.end() && found->is_null())
      *found = vocabulary.id(token);
  return config;
}

compiler::Shape reversed(const compiler::Shape& shape) {
  return {shape.dtype, {shape.dims.rbegin(), shape.dims.rend()}};
}

// Transposes in blocks, so that one cache line is written at a time.
template <class T>
void put_transposed(const std::byte* values, std::size_t rows, std::size_t columns,
                    std::byte* out) {
  constexpr std::size_t kBlock = 64 / sizeof(T);
  for (std::size_t r0 = 0; r0 < rows; r0 += kBlock)
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t r = r0; r < std::min(r0 + kBlock, rows); ++r)
        std::memcpy(out + (c * rows + r) * sizeof(T), values + (r * columns + c) * sizeof(T),
                    sizeof(T));
}

// [rows, columns] -> [columns, rows]
std::vector<std::byte> transposed(const std::vector<std::byte>& values,
                                  const compiler::Shape& shape) {
  const auto rows = static_cast<std::size_t>(shape.dims[0]);
  const auto columns = static_cast<std::size_t>(shape.dims[1]);
  const std::size_t item = compiler::dtype_size_bytes(shape.dtype);
  std::vector<std::byte> out(values.size());
  const auto put = item == 1   ? put_transposed<std::uint8_t>
                   : item == 2 ? put_transposed<std::uint16_t>
                   : item == 4 ? put_transposed<std::uint32_t>
                               : put_transposed<std::uint64_t>;
  put(values.data(), rows, columns, out.data());
  return out;
}

const io::LazyTensor& find(const io::LazyTensors& tensors, const std::string& name,
                           const compiler::Shape& shape, std::string_view where) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    if (std::ranges::any_of(tensors, [](const auto& t) { return t.first.ends_with(":0"); }))
      throw UsageError(
          str(where, ": no tensor '", name, "', found names such as '", tensors.begin()->first,
              "', which are TensorFlow's"),
          "save it with transformers' PyTorch class: from_pretrained(…, from_tf=True)");
    std::vector<std::string> known;
    for (const auto& item : tensors) known.push_back(item.first);
    throw UsageError(str(where, ": no tensor '", name, "'"),
                     nearest_name(name, known)
                         ? did_you_mean(name, known)
                         : "check that the config and the weights are of the same model");
  }
  if (found->second.shape != shape)
    throw UsageError(
        str(where, ": '", name, "' is ", found->second.shape, ", the config expects ", shape),
        "check that the config and the weights are of the same model");
  return found->second;
}

// Returns the tensor, transposed if `transpose` is true.
io::LazyTensor relaid(const io::LazyTensor& tensor, bool transpose) {
  if (!transpose) return tensor;
  if (tensor.read_transposed)
    return {.shape = reversed(tensor.shape),
            .read = tensor.read_transposed,
            .read_transposed = tensor.read,
            .read_stored = tensor.read_stored_transposed,
            .read_stored_transposed = tensor.read_stored,
            .codes = tensor.codes};
  return {reversed(tensor.shape), [tensor] { return transposed(tensor.read(), tensor.shape); }};
}

// Returns the current name of a LayerNorm parameter. Older files of transformers, also on the
// Hugging Face hub, call them gamma and beta.
std::string modern_name(std::string name) {
  for (const auto& [old, modern] : {std::pair{".gamma", ".weight"}, {".beta", ".bias"}})
    if (name.ends_with(old)) return name.substr(0, name.size() - std::string(old).size()) + modern;
  return name;
}

// Returns all weights as f32 under current names. Adds the prefix `base` if the folder has the bare
// encoder.
io::LazyTensors folder_weights(const std::string& folder, std::string_view base) {
  io::LazyTensors out;
  for (auto& [name, tensor] : plain_weights(folder, read_model_config(folder)))
    out.emplace(modern_name(name), as_dtype(std::move(tensor), compiler::DType::f32));
  if (!out.contains("embeddings.word_embeddings.weight") &&
      !out.contains("embeddings.tok_embeddings.weight"))
    return out;
  io::LazyTensors based;
  for (auto& [name, tensor] : out) based.emplace(str(base, name), std::move(tensor));
  return based;
}

io::LazyTensors exported(const io::LazyTensors& parameters, std::span<const ParameterName> names,
                         compiler::DType dtype) {
  io::LazyTensors tensors;
  for (const ParameterName& name : names) {
    const io::LazyTensor& found = find(parameters, name.original, name.shape, "export");
    tensors.emplace(name.hugging_face, as_dtype(relaid(found, name.transposed), dtype));
  }
  return tensors;
}

// Infers the type of a model whose config has no model_type. Returns "bert", "t5", or "" if the
// type cannot be inferred. Only configs of 2018 and 2019 lack the field; configs of models later
// than BERT and T5 always have it.
std::string inferred_model_type(const Json& config) {
  const Json classes = config.value("architectures", Json());
  if (classes.is_array() && !classes.empty() && classes[0].is_string()) {
    const std::string name = classes[0].get<std::string>();
    const bool is_bert = name.starts_with("BertFor") || name == "BertModel";
    return is_bert ? "bert" : name.starts_with("T5") ? "t5" : "";
  }
  const auto has_all = [&](std::initializer_list<const char*> fields) {
    return std::ranges::all_of(fields, [&](const char* name) { return config.contains(name); });
  };
  if (has_all({"d_model", "d_kv", "d_ff"})) return "t5";
  return has_all({"hidden_size", "intermediate_size", "type_vocab_size"}) &&
                 !config.contains("embedding_size")
             ? "bert"
             : "";
}

std::vector<FolderFile> tokenizer_files(const ModelFolder& model) {
  const text::Vocabulary vocabulary = vocabulary_of(model);
  Json special_tokens;
  for (const auto& [role, token] : text::kSpecialTokenRoles)
    special_tokens[role] = vocabulary.special_name(token);
  const bool is_subword = text::is_subword_json(model.vocab_txt);
  Json config =
      is_subword
          ? text::subword_config_json(text::parse_subword_json(model.vocab_txt, "tokenizer.json"))
          : text::tokenizer_config_json(model.tokenizer);
  if (!model.reads_segments) config["model_input_names"] = {"input_ids", "attention_mask"};
  const std::string& command = model.tokenizer.segment_command;
  if (!command.empty()) config["segment_command"] = command;
  config.update(special_tokens);
  config["model_max_length"] = model.max_tokens;
  std::vector<FolderFile> files;
  if (is_subword)
    files = {{"tokenizer.json", model.vocab_txt}};
  else
    files = {{"vocab.txt", model.vocab_txt},
             {"tokenizer.json", text::tokenizer_json(vocabulary, model.tokenizer)}};
  files.push_back({"tokenizer_config.json", config.dump(2) + "\n"});
  files.push_back({"special_tokens_map.json", special_tokens.dump(2) + "\n"});
  add_segment_command_note(command, files);
  return files;
}

}  // namespace

void add_segment_command_note(const std::string& command, std::vector<FolderFile>& files) {
  if (command.empty()) return;
  files.push_back(
      {kSegmentCommandNote,
       str("# Split text into words first\n\nThis model was trained on text that this command "
           "split "
           "into words:\n\n    ",
           command,
           "\n\nIt reads lines and writes each line with spaces between its words. transformers "
           "does "
           "not run it:\nwithout it the model gets other tokens than in training. Pass each text "
           "through the command before\nthe tokenizer, for example in Python:\n\n    import "
           "subprocess\n    words = subprocess.run(COMMAND, shell=True, input=text + \"\\n\", "
           "capture_output=True,\n                           text=True, "
           "check=True).stdout.strip()\n   "
           " tokens = tokenizer(words)\n\n`smelt` runs it if you allow it: --segment-command ",
           shell_word(command),
           "\nA relative path in the command counts from the folder in which the program is "
           "started."
           "\n")});
}

std::string text_field(const Json& config, const char* name, const char* fallback,
                       const std::string& where) {
  const Json value = config.value(name, Json());
  if (value.is_null()) return fallback;
  if (!value.is_string())
    throw UsageError(str(where, ": ", name, " is ", value.dump(), ", must be a string"),
                     "correct the value");
  return value.get<std::string>();
}

void write_folder(const std::string& folder, Json config, const io::LazyTensors& parameters,
                  std::span<const ParameterName> names, std::span<const FolderFile> files,
                  const FolderForm& form) {
  const io::LazyTensors tensors = exported(parameters, names, form.dtype);
  config["torch_dtype"] = torch_dtype(form.dtype);
  io::OutputDirectory directory(folder, form.earlier);
  write_weights(directory, tensors, form.shard_bytes);
  io::write_file(directory.file("config.json"), config.dump(2) + "\n");
  for (const FolderFile& file : files) io::write_file(directory.file(file.name), file.content);
  directory.commit();
}

void write_model_folder(const std::string& folder, const ModelFolder& model,
                        const io::LazyTensors& parameters, std::span<const ParameterName> names,
                        const FolderForm& form) {
  std::vector<FolderFile> files = tokenizer_files(model);
  files.insert(files.end(), model.more_files.begin(), model.more_files.end());
  write_folder(folder, whole_config(model), parameters, names, files, form);
}

// Returns the JSON object in a file of the folder, or null if the file is missing.
static Json object_in(const std::string& folder, const char* name) {
  const std::string path = io::join_path(folder, name);
  if (!io::exists(path)) return {};
  Json out = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  return out.is_object() ? out : Json();
}

std::int64_t longest_text_in(const std::string& folder) {
  for (const auto& [file, field] : {std::pair{"sentence_bert_config.json", "max_seq_length"},
                                    {"tokenizer_config.json", "model_max_length"}}) {
    const Json config = object_in(folder, file);
    if (!config.is_object()) continue;
    const Json value = config.value(field, Json());
    constexpr std::int64_t kMost = 1 << 20;  // transformers writes 1e30 for an unknown maximum
    if (value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() < kMost)
      return value.get<std::int64_t>();
  }
  return 0;
}

// Adds two fields to the config of a CrossEncoder of sentence-transformers, if they are missing:
// sentence_transformers.activation_fn, which version 6 stores in another file, and seq_length, the
// maximum number of tokens of a pair.
static void add_cross_encoder(const std::string& folder, Json& config) {
  constexpr const char* kLibrary = "sentence_transformers";
  if (!architecture_of(config).ends_with("ForSequenceClassification")) return;
  if (!config.contains(kLibrary)) {
    const Json library = object_in(folder, "config_sentence_transformers.json");
    if (library.is_object() && library.value("model_type", Json()) == "CrossEncoder" &&
        library.contains("activation_fn"))
      config[kLibrary] = {{"activation_fn", library["activation_fn"]}};
  }
  if (cross_encoder_activation(config).empty() || config.contains("seq_length")) return;
  if (const std::int64_t length = longest_text_in(folder); length > 0)
    config["seq_length"] = length;
}

Json read_model_config(const std::string& folder) {
  const std::string path = io::join_path(folder, "config.json");
  const std::string content = io::read_file(path, io::kSmallFileBytes);
  io::refuse_lfs_pointer(content, path);
  Json config = Json::parse_or_discard(content);
  if (!config.is_object()) return {};
  if (config.value("model_type", Json()).is_null())
    if (const std::string type = inferred_model_type(config); !type.empty())
      config["model_type"] = type;
  add_cross_encoder(folder, config);
  return config;
}

std::string architecture_of(const Json& config) {
  const Json classes = config.is_object() ? config.value("architectures", Json()) : Json();
  const bool is_named = classes.is_array() && !classes.empty() && classes[0].is_string();
  return is_named ? classes[0].get<std::string>() : "";
}

void check_activation(const std::string& name, const char* field,
                      const std::vector<std::string>& known, const std::string& where) {
  if (std::ranges::find(known, name) == known.end())
    throw UsageError(
        str(where, ": ", field, " is '", name, "', must be one of ", join(known, ", ")),
        "use a model with one of these activations");
}

void check_encoder_form(const Json& config, const std::string& where) {
  const std::string positions = text_field(config, kPositions, kAbsolute, where);
  if (positions != kAbsolute)
    throw UsageError(str(where, ": ", kPositions, " is '", positions, "', not '", kAbsolute, "'"),
                     "use a model with absolute positions");
  if (const Json decoder = config.value("is_decoder", Json()); decoder == true)
    throw UsageError(str(where, ": is_decoder is true: causal language models are not supported"),
                     "use an encoder, such as a folder of BertForMaskedLM");
  const Json epsilon = config.value(kEpsilon, Json(model::kLayerNormEpsilon));
  if (epsilon != model::kLayerNormEpsilon)
    log_warning("{}: {} {} is not supported; using {}", where, kEpsilon, epsilon.dump(),
                model::kLayerNormEpsilon);
}

// Throws UsageError if the model's output projection is not tied to its embeddings.
void refuse_untied_scores(const Json& config, const io::LazyTensors& weights,
                          const std::string& folder) {
  const Json tied = config.value("tie_word_embeddings", Json(true));
  if (!tied.is_boolean() || tied.get<bool>()) return;
  for (const char* name : {"cls.predictions.decoder.weight", "generator_lm_head.weight",
                           "lm_head.decoder.weight", "decoder.weight"})
    if (weights.contains(name))
      throw UsageError(str(folder, ": tie_word_embeddings is false and ", name,
                           " exists; only tied output embeddings are supported"),
                       "use a model whose output is tied to its embeddings");
}

// Logs a warning, once for each folder, if its config names Python code for the model (auto_map).
static void warn_of_own_code(const Json& config, const std::string& where) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const Json classes = config.is_object() ? config.value("auto_map", Json()) : Json();
  if (!classes.is_object() || classes.empty()) return;
  const std::lock_guard lock(mutex);
  if (warned.insert(where).second)
    log_warning(
        "{}: auto_map names code of the model's own, which smelt does not run: it computes the {} "
        "of transformers",
        where, text_field(config, "model_type", "model", where));
}

OpenedFolder open_model_folder(const std::string& folder, Json config,
                               std::span<const ParameterName> names,
                               std::span<const std::string_view> parts, std::string_view base,
                               const std::string& vocabulary) {
  OpenedFolder out;
  const Json stored = read_model_config(folder);
  warn_of_own_code(stored, io::join_path(folder, "config.json"));
  const text::ControlCharacters usual =
      family_of_config(stored, io::join_path(folder, "config.json")).control();
  const auto control = usual == text::ControlCharacters::bert ? std::nullopt : std::optional(usual);
  out.model.config = std::move(config);
  out.vocabulary =
      vocabulary.empty() ? text::wordpiece_file_in(folder) : io::join_path(folder, vocabulary);
  if (!out.vocabulary.empty() && io::exists(out.vocabulary)) {
    refuse_lfs_pointer(out.vocabulary);
    if (const std::string json = io::join_path(folder, "tokenizer.json");
        vocabulary.empty() && io::exists(json))
      refuse_lfs_pointer(json);
    out.model.vocab_txt = text::vocabulary_bytes(out.vocabulary);
    if (vocabulary.empty())
      out.model.tokenizer = text::tokenizer_options(
          out.vocabulary, text::with_vocabulary_options({}, out.vocabulary, control));
  }
  const io::LazyTensors weights = folder_weights(folder, base);
  refuse_untied_scores(stored, weights, folder);
  const auto is_there = [&](const ParameterName& name) {
    return weights.contains(name.hugging_face);
  };
  std::set<std::string, std::less<>> used;
  for (const ParameterName& name : without_missing_parts(names, parts, is_there)) {
    const compiler::Shape shape = name.transposed ? reversed(name.shape) : name.shape;
    const io::LazyTensor& found = find(weights, name.hugging_face, shape, weights_path(folder));
    out.parameters.emplace(name.original, relaid(found, name.transposed));
    used.insert(name.hugging_face);
  }
  for (const auto& [name, tensor] : weights)
    if (!used.contains(name)) out.unused.push_back(name);
  std::erase_if(out.unused, [](const std::string& name) {
    return name.find(".decoder.") != name.npos || name.ends_with("position_ids") ||
           name == "generator_lm_head.weight";
  });
  return out;
}

ModelFolder held_folder(OpenedFolder opened) {
  auto held = std::make_shared<TensorsInMemory>(load_into_memory(opened.parameters));
  opened.model.parameters = held->tensors;
  opened.model.owner = std::move(held);
  return std::move(opened.model);
}

}  // namespace smelt::checkpoint
