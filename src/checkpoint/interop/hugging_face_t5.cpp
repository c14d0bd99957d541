#include "checkpoint/interop/hugging_face_t5.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "checkpoint/interop/t5_names.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "text/tokenizers/sentinels.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kPad = "<pad>", *kEnd = "</s>", *kUnknown = "<unk>",
                     *kTokenizerFile = "tokenizer.json";
// "model_max_length" in tokenizer_config.json: the length in T5's pretraining; T5 has no limit
constexpr std::int64_t kModelLength = 512;

// Returns generation_config.json: generation starts with <pad> and stops at </s>.
Json generation_config(std::int32_t end) {
  return {{"decoder_start_token_id", 0}, {"eos_token_id", end}, {"pad_token_id", 0}};
}

Json folder_config(const model::T5Config& c, std::int32_t end) {
  Json config = io::config_json(c);
  config["num_decoder_layers"] = c.decoder_layers();
  config["architectures"] = {"T5ForConditionalGeneration"};
  config["model_type"] = "t5";
  config["is_encoder_decoder"] = true;
  config.update(generation_config(end));
  return config;
}

std::vector<FolderFile> tokenizer_files(const text::Tokenizer& tokenizer, const std::string& vocab,
                                        const text::Sentinels& sentinels) {
  Json names = Json::array();
  for (std::int64_t i = 0; i < sentinels.count; ++i) names.push_back(str("<extra_id_", i, ">"));
  const Json special{{"additional_special_tokens", names},
                     {"eos_token", kEnd},
                     {"pad_token", kPad},
                     {"unk_token", kUnknown}};
  Json config = special;
  config["model_max_length"] = kModelLength;
  config["extra_ids"] = sentinels.ids - tokenizer.size();
  config.update(text::t5_tokenizer_config(vocab));
  const std::string command = text::segment_command_of(vocab, {});
  if (!command.empty()) config["segment_command"] = command;
  std::vector<FolderFile> files{{kT5VocabularyFile, text::sentencepiece_model(vocab)},
                                {"tokenizer_config.json", config.dump(2) + "\n"},
                                {"special_tokens_map.json", special.dump(2) + "\n"}};
  add_segment_command_note(command, files);
  return files;
}

}  // namespace

void export_hugging_face_t5(const std::string& folder, const model::T5Config& config,
                            const std::string& vocab, std::optional<std::int64_t> extra_ids,
                            const io::LazyTensors& parameters, const FolderForm& form,
                            const std::string& prefix) {
  const auto tokenizer = text::load_tokenizer(vocab, {});
  if (tokenizer->token(0) != kPad)
    throw UsageError(str(vocab, ": piece 0 is '", tokenizer->token(0), "', not ", kPad),
                     "T5 pads with id 0; use the model's own spiece.model");
  const text::AddedPieces added = text::added_pieces(vocab);
  text::check_added_pieces(added, config.vocab_size, vocab);
  const text::Sentinels sentinels =
      text::sentinels_of(*tokenizer, vocab,
                         extra_ids.value_or(text::sentinels_on_top(
                             tokenizer->size(), config.vocab_size, added.tokens)));
  if (sentinels.ids > config.vocab_size)
    throw UsageError(
        str(vocab, ": ", tokenizer->size(), " pieces and ", sentinels.ids - tokenizer->size(),
            " sentinels are more than the config's vocab_size ", config.vocab_size),
        "use the vocabulary that the model was trained with");
  const std::int32_t end = text::id_of_piece(*tokenizer, vocab, kEnd);
  std::vector<FolderFile> files = tokenizer_files(*tokenizer, vocab, sentinels);
  files.push_back({"generation_config.json", generation_config(end).dump(2) + "\n"});
  Json said = folder_config(config, end);
  if (!prefix.empty()) said["prefix"] = prefix;
  write_folder(folder, said, parameters, t5_names(config), files, form);
}

// Throws UsageError if tokenizer_config.json names a tokenizer class that is neither T5's nor
// generic. Some T5 models have a WordPiece, byte or Pegasus vocabulary.
static void check_tokenizer_class(const Json& config, const std::string& where) {
  static const std::set<std::string> kRead{"",
                                           "T5Tokenizer",
                                           "T5TokenizerFast",
                                           "MT5Tokenizer",
                                           "MT5TokenizerFast",
                                           "PreTrainedTokenizerFast",
                                           "TokenizersBackend"};
  const std::string name = text_field(config, "tokenizer_class", "", where);
  if (!kRead.contains(name))
    throw UsageError(str(where, ": tokenizer_class is \"", name, "\", not \"T5Tokenizer\""),
                     "use a T5 with the SentencePiece model of T5 or mT5; another tokenizer would "
                     "produce ids that do not match the weights");
}

void check_t5_tokenizer(const std::string& folder) {
  const std::string path = io::join_path(folder, "tokenizer_config.json");
  const Json config =
      io::exists(path) ? Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes)) : Json();
  if (config.is_object()) check_tokenizer_class(config, path);
}

// Sets the vocabulary's path. Loads the vocabulary from tokenizer.json if there is no spiece.model.
static void take_vocabulary(const std::string& folder, OpenedT5& out) {
  out.vocabulary = io::join_path(folder, kT5VocabularyFile);
  if (!out.folder.model.vocab_txt.empty()) return;
  const std::string path = io::join_path(folder, kTokenizerFile);
  if (io::exists(path)) refuse_lfs_pointer(path);
  if (!text::is_sentencepiece_file(path)) return;
  text::UnigramJson read = text::parse_unigram_json(io::read_file(path, io::kSmallFileBytes), path);
  out.vocabulary = path;
  out.folder.model.vocab_txt = std::move(read.model);
  out.extra_ids = read.extra_ids;
}

OpenedT5 open_hugging_face_t5(const std::string& folder) {
  const Json config = read_model_config(folder);
  const std::string where = io::join_path(folder, "config.json");
  Json fields = Json::object();
  for (const io::ConfigField& field : io::config_fields<model::T5Config>())
    if (config.contains(field.name) && !config[field.name].is_null())
      fields[field.name] = config[field.name];
  check_activation(text_field(config, "feed_forward_proj", "relu", where), "feed_forward_proj",
                   {"relu", "gated-gelu"}, where);
  const Json start = config.value("decoder_start_token_id", Json());
  if (!start.is_null() && start != 0)
    throw UsageError(
        str(where, ": decoder_start_token_id is ", start.dump(), ", must be 0 (<pad>), as in T5"),
        "use a model whose decoder starts with id 0");
  OpenedT5 out{.config = io::parse_config<model::T5Config>(fields, where),
               .prefix = {},
               .extra_ids = {},
               .vocabulary = {},
               .folder = {}};
  if (const auto said = config.find("prefix"); said != config.end() && said->is_string())
    out.prefix = said->get<std::string>();
  if (out.config.num_decoder_layers == out.config.num_layers) out.config.num_decoder_layers = 0;
  model::check_t5_config(out.config, [&](const std::string&) { return where; });
  out.folder = open_model_folder(folder, io::config_json(out.config), t5_names(out.config), {}, "",
                                 kT5VocabularyFile);
  take_vocabulary(folder, out);
  std::erase_if(out.folder.unused, [&](const std::string& name) {
    return name.ends_with(".embed_tokens.weight") || name == "lm_head.weight";
  });
  return out;
}

}  // namespace smelt::checkpoint
