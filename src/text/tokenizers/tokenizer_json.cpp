#include "text/tokenizers/tokenizer_json.h"

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/lfs_pointer.h"
#include "io/filesystem/path.h"
#include "io/formats/json_field.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/text_normalizer.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::text {
namespace {

constexpr std::string_view kUnknown = "[UNK]",
                           kHint = "give the tokenizer.json of a BERT or ELECTRA model";

// A normalizer step that replaces one character.
struct Replacement {
  std::string_view from, to;
};
constexpr Replacement kSpace{"\u200b", " "}, kDotted{"İ", "i"}, kDotless{"I", "ı"};

bool is_replacement(const io::JsonField& step, const Replacement& r) {
  return step["type"].value() == "Replace" && step["pattern"]["String"].value() == r.from &&
         step["content"].value() == r.to;
}

// Returns the BertNormalizer at the end of a Sequence and applies the steps before it, which must
// be those of normalizer_steps() in that order.
io::JsonField take_sequence(const io::JsonField& sequence, const std::string& path,
                            const std::vector<Json>& steps, TokenizerOptions& options) {
  std::size_t at = 0;
  const auto next = [&] { return io::JsonField(steps[at], path, kHint); };
  const auto take = [&](bool is_there) {
    if (is_there) ++at;
    return is_there;
  };
  if (steps.empty()) sequence["normalizers"].refuse("empty");
  options.nfc = take(next()["type"].value() == "NFC");
  if (at < steps.size()) options.zero_width_space = take(is_replacement(next(), kSpace));
  if (at < steps.size()) options.turkic_case = take(is_replacement(next(), kDotted));
  if (options.turkic_case && (at == steps.size() || !take(is_replacement(next(), kDotless))))
    sequence["normalizers"].throw_unexpected(", not İ and I replaced by i and ı");
  if (at + 1 != steps.size())
    sequence["normalizers"].throw_unexpected(
        ", not NFC, U+200B replaced by a space, İ and I replaced by i and ı, and BertNormalizer");
  return next();
}

TokenizerOptions parse_options(const io::JsonField& root, const std::string& path) {
  const io::JsonField found = root["normalizer"], model = root["model"];
  TokenizerOptions options;
  const bool is_sequence = found["type"].value() == "Sequence";
  const std::vector<Json> steps =
      is_sequence ? found["normalizers"].as<std::vector<Json>>() : std::vector<Json>();
  const io::JsonField normalizer = is_sequence ? take_sequence(found, path, steps, options) : found;
  normalizer["type"].expect("BertNormalizer");
  root["pre_tokenizer"]["type"].expect("BertPreTokenizer");
  if (!normalizer["clean_text"].as_switch().value_or(true))
    normalizer["clean_text"].throw_unexpected(", not true");
  options.lower_case = normalizer["lowercase"].as_switch().value_or(true);
  options.strip_accents = normalizer["strip_accents"].as_switch();
  if (options.turkic_case && !options.lower_case)
    normalizer["lowercase"].throw_unexpected(", not true behind I replaced by ı");
  options.split_chinese = normalizer["handle_chinese_chars"].as_switch().value_or(true);
  options.control = ControlCharacters::electra;
  const io::JsonField limit = model["max_input_chars_per_word"];
  const auto characters = limit.as(static_cast<std::int64_t>(options.max_characters_per_word));
  if (characters < 1) limit.throw_unexpected(", not at least 1");
  options.max_characters_per_word = static_cast<std::size_t>(characters);
  return options;
}

std::vector<AddedToken> added_tokens(const io::JsonField& root, const std::string& path) {
  std::vector<AddedToken> tokens;
  for (const Json& added : root["added_tokens"].value()) {
    const io::JsonField field(added, path, kHint);
    tokens.push_back(parse_added_token(field, token_id_of(field["id"])));
  }
  return tokens;
}

// Returns the model's tokens by id, including the special ones among the added tokens.
std::vector<std::string> tokens_by_id(const io::JsonField& root, const std::string& path,
                                      const std::vector<AddedToken>& added) {
  std::vector<std::string> tokens;
  const auto add = [&](const std::string& token, std::int32_t id) {
    const auto at = static_cast<std::size_t>(id);
    if (at >= tokens.size()) tokens.resize(at + 1);
    if (!tokens[at].empty() && tokens[at] != token)
      throw UsageError(str(path, ": id ", id, " is both '", tokens[at], "' and '", token, "'"),
                       kHint);
    tokens[at] = token;
  };
  const io::JsonField vocab = root["model"]["vocab"];
  if (!vocab.value().is_object()) vocab.throw_unexpected(", not an object of tokens and ids");
  for (const auto& [token, id] : vocab.value().items())
    add(std::string(python_strip(token)), token_id_of(vocab[token]));
  for (const AddedToken& token : added)
    if (is_special_token(token.content)) add(token.content, token.id);
  if (tokens.empty()) vocab.refuse("empty");
  return tokens;
}

// Throws UsageError if the special tokens around a text are not those that smelt adds.
void check_special_tokens_around(const io::JsonField& root) {
  const io::JsonField processor = root["post_processor"];
  if (processor.is_null() || processor["type"].value() == "BertProcessing") return;
  processor["type"].expect("TemplateProcessing");
  std::vector<std::string> around;
  for (const Json& step : processor["single"].value())
    for (const auto& [kind, said] : step.items())
      around.push_back(said.value("id", Json()).is_string() ? said["id"].get<std::string>() : "");
  if (around != std::vector<std::string>{"[CLS]", "A", "[SEP]"})
    processor["single"].throw_unexpected(", not [CLS] A [SEP]");
}

OrderedJson template_of(const Vocabulary& vocabulary) {
  const auto special = [](const char* token, int type) {
    return OrderedJson{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  OrderedJson tokens;
  for (const char* token : {"[CLS]", "[SEP]"})
    tokens[token] = {{"id", token}, {"ids", {vocabulary.id(token)}}, {"tokens", {token}}};
  const OrderedJson one{special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)};
  OrderedJson two = one;
  two.push_back(sequence("B", 1));
  two.push_back(special("[SEP]", 1));
  return {
      {"type", "TemplateProcessing"}, {"single", one}, {"pair", two}, {"special_tokens", tokens}};
}

OrderedJson added_tokens_json(const Vocabulary& vocabulary, std::vector<AddedToken> added) {
  for (const std::string_view special : kSpecialTokens)
    if (const auto id = vocabulary.find(special))
      merge_added_tokens(
          {{.id = *id, .content = std::string(special), .normalized = false, .special = true}},
          added);
  OrderedJson out = OrderedJson::array();
  for (const AddedToken& token : added) {
    OrderedJson one{{"id", token.id}};
    one.update(added_token_json(token));
    out.push_back(one);
  }
  return out;
}

}  // namespace

bool is_tokenizer_json(std::string_view path) { return io::path_name(path).ends_with(".json"); }

WordPieceModel parse_tokenizer_json(std::string_view text, const std::string& path) {
  io::refuse_lfs_pointer(text, path);
  const Json file = Json::parse_or_discard(text);
  if (!file.is_object()) throw UsageError(str(path, ": is not a JSON object"), kHint);
  const io::JsonField root(file, path, kHint);
  if (!root["model"]["type"].is_null() || root["model"]["continuing_subword_prefix"].is_null())
    root["model"]["type"].expect("WordPiece");
  root["model"]["unk_token"].expect(kUnknown);
  const auto prefix = root["model"]["continuing_subword_prefix"].as(std::string(kContinuingPrefix));
  TokenizerOptions options = parse_options(root, path);
  check_special_tokens_around(root);
  merge_added_tokens(added_tokens(root, path), options.added);
  const Vocabulary vocabulary(tokens_by_id(root, path, options.added), path, prefix, options.added);
  std::erase_if(options.added,
                [](const AddedToken& token) { return is_special_token(token.content); });
  return {vocabulary, std::move(options)};
}

WordPieceModel load_tokenizer_json(const std::string& path) {
  WordPieceModel model = parse_tokenizer_json(io::read_file(path, io::kSmallFileBytes), path);
  const std::vector<AddedToken> known = model.options.added;
  apply_tokenizer_config(path, model.vocabulary.tokens(), model.options);
  if (model.options.added != known)
    model.vocabulary = Vocabulary(model.vocabulary.pieces(), path,
                                  model.vocabulary.continuing_prefix(), model.options.added);
  return model;
}

std::string tokenizer_json(const Vocabulary& vocabulary, const TokenizerOptions& options) {
  OrderedJson vocab;
  std::vector<std::string> pieces = vocabulary.pieces();
  while (!pieces.empty() && pieces.back().empty()) pieces.pop_back();
  // Hugging Face's library uses the number of tokens as the id of the first added token, so every
  // id must have a token. An unused id gets one that no text produces: a run of spaces of unique
  // length.
  std::string blank;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    vocab[pieces[id].empty() ? blank : pieces[id]] = id;
    if (pieces[id].empty()) blank += ' ';
  }
  const OrderedJson file{
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added_tokens_json(vocabulary, options.added)},
      {"normalizer", normalizer_json(normalizer_steps(options))},
      {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
      {"post_processor", template_of(vocabulary)},
      {"decoder",
       {{"type", "WordPiece"}, {"prefix", vocabulary.continuing_prefix()}, {"cleanup", true}}},
      {"model",
       {{"type", "WordPiece"},
        {"unk_token", kUnknown},
        {"continuing_subword_prefix", vocabulary.continuing_prefix()},
        {"max_input_chars_per_word", options.max_characters_per_word},
        {"vocab", vocab}}}};
  return file.dump(2) + "\n";
}

}  // namespace smelt::text
