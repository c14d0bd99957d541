#include "text/tokenizers/unigram_json.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/lfs_pointer.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "io/formats/json_field.h"
#include "io/formats/wire.h"
#include "text/tokenizers/precompiled_map.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"

namespace smelt::text {
namespace {

constexpr const char *kOwnSigns = "space_signs", *kAtBegin = "at_begin", *kOfSpaces = "of_spaces",
                     *kByWords = "by_words", *kSentinelsStrip = "sentinels_strip",
                     *kTokensById = "added_tokens_decoder";
constexpr std::string_view kUnigramHint =
    "give the tokenizer.json of a T5, or its spiece.model, which contains all settings";
constexpr std::string_view kSpaceSign = "\xE2\x96\x81";  // U+2581

// Normalization before splitting into pieces, in terms of sentencepiece_model.proto.
struct Normalizer {
  std::string charsmap;
  bool squeezes_spaces = false, strips_left = false, by_words = false;
  SpaceSigns signs = {};
};

// Returns the steps of a "Sequence" or similar, or the single step; empty for null.
std::vector<Json> steps_of(const io::JsonField& field, const char* list) {
  if (field.is_null()) return {};
  if (field["type"].value() != "Sequence") return {field.value()};
  return field[list].as<std::vector<Json>>();
}

// Parses T5's normalizer, which strips spaces at both ends and merges repeated ones.
Normalizer parse_normalizer(const io::JsonField& root, const std::string& path) {
  Normalizer out;
  for (const Json& step : steps_of(root["normalizer"], "normalizers")) {
    const io::JsonField field(step, path, kUnigramHint);
    const std::string type = field["type"].as<std::string>("");
    if (type == "Precompiled") {
      const io::JsonField map = field["precompiled_charsmap"];
      const auto bytes = from_base64(map.as<std::string>());
      if (!bytes) map.refuse("no base64");
      out.charsmap = *bytes;
    } else if (type == "Replace") {
      field["pattern"]["Regex"].expect(" {2,}");
      if (field["content"].value() != " ") field["content"].expect(kSpaceSign);
      out.squeezes_spaces = true;
    } else if (type == "Strip") {
      out.strips_left = field["strip_left"].as_switch().value_or(true);
    } else {
      throw UsageError(str(path, ": a normalizer ", type, ", which smelt does not support for T5"),
                       kUnigramHint);
    }
  }
  return out;
}

void parse_pre_tokenizer(const io::JsonField& root, const std::string& path, Normalizer& out) {
  std::string scheme;
  for (const Json& step : steps_of(root["pre_tokenizer"], "pretokenizers")) {
    const io::JsonField field(step, path, kUnigramHint);
    const std::string type = field["type"].as<std::string>("");
    if (type == "WhitespaceSplit") {
      out.by_words = out.squeezes_spaces = true;
    } else if (type == "Metaspace") {
      field["replacement"].expect(kSpaceSign);
      scheme = field["prepend_scheme"].as<std::string>(
          field["add_prefix_space"].as_switch().value_or(true) ? "always" : "never");
    } else {
      throw UsageError(
          str(path, ": a pre_tokenizer ", type, ", which smelt does not support for T5"),
          kUnigramHint);
    }
  }
  if (scheme.empty()) root["pre_tokenizer"].throw_unexpected(", not Metaspace");
  if (out.by_words && scheme != "always")
    throw UsageError(str(path, ": Metaspace with prepend_scheme ", scheme,
                         " after WhitespaceSplit is not supported: it loses spaces between words"),
                     kUnigramHint);
  out.signs = {.at_begin = scheme != "never",
               .behind_sentinels = scheme == "always",
               .of_spaces = scheme != "always" && !out.strips_left && out.squeezes_spaces};
}

bool is_extra_id(std::string_view piece) {
  return piece.starts_with("<extra_id_") && piece.ends_with('>');
}

// Types of pieces, with their numbers in sentencepiece_model.proto.
enum class PieceType : std::uint64_t {
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  byte = 6
};

struct Piece {
  std::string text;
  float score;
  PieceType type = PieceType::normal;
};

std::size_t added_id(const io::JsonField& added) {
  const auto id = added["id"].as_number<std::size_t>();
  if (!id) added["id"].throw_unexpected(", not a valid id");
  return *id;
}

std::vector<Piece> pieces_of(const io::JsonField& root, const std::string& path) {
  const io::JsonField model = root["model"];
  std::vector<Piece> out;
  for (const Json& entry : model["vocab"].as<std::vector<Json>>()) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      model["vocab"].refuse("not a list of pieces with their scores");
    out.push_back({entry[0].get<std::string>(), entry[1].get<float>()});
  }
  const bool bytes = model["byte_fallback"].as_switch().value_or(false);
  for (Piece& piece : out)
    if (bytes && piece.text.size() == 6 && piece.text.starts_with("<0x") &&
        piece.text.ends_with('>'))
      piece.type = PieceType::byte;
  const auto unknown = model["unk_id"].as_number<std::size_t>();
  if (!unknown || *unknown >= out.size() || is_extra_id(out[*unknown].text))
    model["unk_id"].throw_unexpected(", not the id of a piece");
  out[*unknown].type = PieceType::unknown;
  for (const Json& added : root["added_tokens"].as<std::vector<Json>>({})) {
    const io::JsonField field(added, path, kUnigramHint);
    const std::size_t id = added_id(field);
    const auto text = field["content"].as<std::string>();
    if (id >= out.size()) continue;
    if (out[id].text != text)
      throw UsageError(str(path, ": '", text, "' is added with id ", id, ", which is the piece '",
                           out[id].text, "'"),
                       kUnigramHint);
    if (out[id].type == PieceType::normal)
      out[id].type = field["special"].as_switch().value_or(false) ? PieceType::control
                                                                  : PieceType::user_defined;
  }
  return out;
}

// Returns 7 for "<extra_id_7>"; nullopt for another text.
std::optional<std::int64_t> number_of(std::string_view text) {
  if (!is_extra_id(text)) return std::nullopt;
  const std::string_view digits = text.substr(10, text.size() - 11);
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    return std::nullopt;
  return number;
}

// Returns whether the sentinels among the tokens have T5's ids, where the sum of id and number is
// constant.
bool sentinels_descend(const std::vector<AddedToken>& tokens) {
  std::optional<std::int64_t> sum;
  for (const AddedToken& token : tokens)
    if (const auto number = number_of(token.content)) {
      if (sum.value_or(*number + token.id) != *number + token.id) return false;
      sum = *number + token.id;
    }
  return true;
}

// Erases T5's special tokens, and also the sentinels if `sentinels` is true.
void erase_usual_tokens(std::vector<AddedToken>& tokens, bool sentinels) {
  std::erase_if(tokens, [&](const AddedToken& token) {
    const std::string& text = token.content;
    return (sentinels && number_of(text)) || text == "<pad>" || text == "</s>" || text == "<unk>" ||
           text == "<s>";
  });
}

// Returns the added tokens with ids not less than `first`.
std::vector<AddedToken> tokens_behind(const io::JsonField& root, const std::string& path,
                                      std::size_t first) {
  std::vector<AddedToken> out;
  for (const Json& added : root["added_tokens"].as<std::vector<Json>>({})) {
    const io::JsonField field(added, path, kUnigramHint);
    if (added_id(field) >= first)
      merge_added_tokens({parse_added_token(field, token_id_of(field["id"]))}, out);
  }
  return out;
}

// Removes the sentinels from the end of `pieces`. Stores their number in out.extra_ids, and the
// other added tokens after the pieces in out.added. A sentinel may be a piece, an added token or
// both. The ids of sentinels must descend by 1 from that of <extra_id_0>
// (text/tokenizers/sentinels.h). Added tokens with other ids stay in out.added; throws UsageError
// for pieces with other ids.
void take_added(const io::JsonField& root, const std::string& path, std::vector<Piece>& pieces,
                UnigramJson& out) {
  std::map<std::size_t, std::string> sentinels;
  for (; !pieces.empty() && is_extra_id(pieces.back().text); pieces.pop_back())
    sentinels[pieces.size() - 1] = pieces.back().text;
  std::vector<AddedToken> tokens = tokens_behind(root, path, pieces.size());
  const auto is_sentinel = [](const AddedToken& token) { return is_extra_id(token.content); };
  const auto lowest = std::ranges::find_if(tokens, is_sentinel);
  out.added.sentinels_strip = lowest != tokens.end() && lowest->rstrip;
  if (out.added.sentinels_strip) out.signs.of_spaces = false;
  const bool usual = sentinels_descend(tokens) && lowest != tokens.end() &&
                     static_cast<std::size_t>(lowest->id) == pieces.size();
  for (const AddedToken& token : tokens)
    if (usual && is_extra_id(token.content))
      sentinels[static_cast<std::size_t>(token.id)] = token.content;
  std::size_t id = pieces.size(), number = sentinels.size();
  for (const auto& [at, text] : sentinels) {
    const std::string wanted = str("<extra_id_", --number, ">");
    if (at != id++ || text != wanted)
      throw UsageError(str(path, ": '", text, "' has id ", at, ", but ", wanted, " must have id ",
                           id - 1, ", as in a T5 vocabulary"),
                       kUnigramHint);
  }
  out.extra_ids = std::ssize(sentinels);
  erase_usual_tokens(tokens, usual);
  out.added.tokens = std::move(tokens);
}

// Serializes ModelProto of sentencepiece_model.proto: pieces 1, trainer_spec 2, normalizer_spec 3.
std::string model_bytes(const std::vector<Piece>& pieces, const Normalizer& n) {
  constexpr std::uint64_t kUnigram = 1;
  io::WireWriter out, trainer, normalizer;
  std::map<std::string_view, std::int64_t> control{{"<s>", -1}, {"</s>", -1}, {"<pad>", -1}};
  std::int64_t unknown = 0;
  for (std::int64_t id = 0; id < std::ssize(pieces); ++id) {
    const Piece& piece = pieces[static_cast<std::size_t>(id)];
    io::WireWriter one;
    one.bytes(1, piece.text);
    one.real(2, piece.score);
    one.varint(3, static_cast<std::uint64_t>(piece.type));
    out.message(1, one);
    if (piece.type == PieceType::unknown) unknown = id;
    if (const auto found = control.find(piece.text);
        found != control.end() && piece.type == PieceType::control)
      found->second = id;
  }
  trainer.varint(3, kUnigram);
  trainer.integer(4, std::ssize(pieces));
  trainer.varint(
      35, std::ranges::any_of(pieces, [](const Piece& p) { return p.type == PieceType::byte; }));
  trainer.integer(40, unknown);
  trainer.integer(41, control["<s>"]);
  trainer.integer(42, control["</s>"]);
  trainer.integer(43, control["<pad>"]);
  trainer.bytes(45, pieces[static_cast<std::size_t>(unknown)].text);
  out.message(2, trainer);
  normalizer.bytes(2, n.charsmap);
  normalizer.varint(3, n.signs.at_begin);
  normalizer.varint(4, n.squeezes_spaces);
  normalizer.varint(5, true);
  out.message(3, normalizer);
  return out.take();
}

}  // namespace

UnigramJson parse_unigram_json(std::string_view text, const std::string& path) {
  const Json file = Json::parse_or_discard(text);
  if (!file.is_object()) throw UsageError(str(path, ": is not a JSON object"), kUnigramHint);
  const io::JsonField root(file, path, kUnigramHint);
  root["model"]["type"].expect("Unigram");
  Normalizer normalizer = parse_normalizer(root, path);
  parse_pre_tokenizer(root, path, normalizer);
  std::vector<Piece> pieces = pieces_of(root, path);
  UnigramJson out;
  out.signs = normalizer.signs;
  take_added(root, path, pieces, out);
  out.added.by_words = normalizer.by_words && !out.added.tokens.empty();
  out.model = model_bytes(pieces, normalizer);
  return out;
}

bool is_sentencepiece_file(const std::string& path) {
  if (!is_tokenizer_json(path))
    return io::path_name(path).ends_with(".model") && !is_encoder_spm(path);
  if (!io::exists(path)) return false;
  const std::string text = io::read_file(path, io::kSmallFileBytes);
  if (is_subword_json(text)) return false;
  const Json file = Json::parse_or_discard(text);
  return file.is_object() && file.contains("model") && file["model"].is_object() &&
         file["model"].value("type", Json()) == "Unigram";
}

std::string sentencepiece_model(const std::string& path) {
  std::string bytes = io::read_file(path, io::kSmallFileBytes);
  io::refuse_lfs_pointer(bytes, path);
  return is_tokenizer_json(path) ? parse_unigram_json(bytes, path).model : bytes;
}

SpaceSigns space_signs(const std::string& path) {
  if (is_tokenizer_json(path))
    return parse_unigram_json(io::read_file(path, io::kSmallFileBytes), path).signs;
  SpaceSigns out;
  const std::string config = io::join_path(io::parent_path(path), "tokenizer_config.json");
  if (!io::exists(config)) return out;
  const Json file = Json::parse_or_discard(io::read_file(config, io::kSmallFileBytes));
  if (!file.is_object()) return out;
  out.behind_sentinels = file.value("legacy", Json()) != false;
  if (const Json own = file.value(kOwnSigns, Json()); own.is_object()) {
    out.at_begin = own.value(kAtBegin, Json()) != false;
    out.of_spaces = own.value(kOfSpaces, Json()) == true;
  }
  return out;
}

AddedPieces added_pieces(const std::string& path) {
  if (is_tokenizer_json(path))
    return parse_unigram_json(io::read_file(path, io::kSmallFileBytes), path).added;
  AddedPieces out{.tokens = tokens_beside(path)};
  for (const AddedToken& token : out.tokens)
    if (is_extra_id(token.content)) out.sentinels_strip = token.rstrip;
  erase_usual_tokens(out.tokens, sentinels_descend(out.tokens));
  const std::string config = io::join_path(io::parent_path(path), "tokenizer_config.json");
  if (out.tokens.empty() || !io::exists(config)) return out;
  const Json file = Json::parse_or_discard(io::read_file(config, io::kSmallFileBytes));
  if (const Json own = file.value(kOwnSigns, Json()); own.is_object()) {
    out.by_words = own.value(kByWords, Json()) == true;
    if (own.value(kSentinelsStrip, Json()) == false) out.sentinels_strip = false;
  }
  return out;
}

void check_added_pieces(const AddedPieces& added, std::int64_t rows, const std::string& vocab) {
  for (const AddedToken& token : added.tokens)
    if (token.id >= rows)
      throw UsageError(str(vocab, ": the added token '", token.content, "' has id ", token.id,
                           ", the model has ", rows, " rows of embeddings (vocab_size)"),
                       "add rows with transformers' resize_token_embeddings(), or remove the token "
                       "from the tokenizer's files");
}

Json t5_tokenizer_config(const std::string& path) {
  const SpaceSigns signs = space_signs(path);
  const AddedPieces added = added_pieces(path);
  Json out{{"tokenizer_class", "T5Tokenizer"}, {"legacy", signs.behind_sentinels}};
  if (const SpaceSigns usual;
      signs.at_begin != usual.at_begin || signs.of_spaces != usual.of_spaces)
    out[kOwnSigns] = {{kAtBegin, signs.at_begin}, {kOfSpaces, signs.of_spaces}};
  if (added.by_words) out[kOwnSigns][kByWords] = true;
  if (!added.tokens.empty() && !added.sentinels_strip) out[kOwnSigns][kSentinelsStrip] = false;
  for (const AddedToken& token : added.tokens)
    out[kTokensById][std::to_string(token.id)] = Json::parse(added_token_json(token).dump());
  return out;
}

std::string config_beside_copy(const std::string& path) {
  if (space_signs(path) == SpaceSigns() && added_pieces(path).tokens.empty()) return "";
  return t5_tokenizer_config(path).dump(2) + "\n";
}

std::uint32_t vocabulary_crc32c(const std::string& path) {
  const std::uint32_t crc = io::crc32c(vocabulary_bytes(path));
  if (!is_sentencepiece_file(path)) return crc;
  const std::string config = config_beside_copy(path);
  return config.empty() ? crc : io::crc32c(config, crc);
}

std::string vocabulary_bytes(const std::string& path) {
  if (is_sentencepiece_file(path)) return sentencepiece_model(path);
  if (is_subword_file(path)) return subword_json(load_subword_file(path));
  if (!is_tokenizer_json(path)) return io::read_file(path, io::kSmallFileBytes);
  return load_tokenizer_json(path).vocabulary.text();
}

}  // namespace smelt::text
