#include "text/tokenizers/subword_file.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/json_field.h"
#include "text/tokenizers/encoder_spm.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::text {
namespace {

using Prepend = PreTokenizer::Prepend;

constexpr std::string_view kSubwordHint =
    "give the tokenizer.json of a model with BERT's special tokens, or of GPT-2, RoBERTa, "
    "ModernBERT "
    "or DeBERTa";
constexpr const char *kPieces = "vocab.json", *kMerges = "merges.txt";
constexpr std::array<std::pair<const char*, Prepend>, 3> kSchemes{
    {{"never", Prepend::never}, {"first", Prepend::first}, {"always", Prepend::always}}};

std::int32_t id_of(const std::vector<std::string>& pieces, std::string_view piece) {
  const auto found = std::ranges::find(pieces, piece);
  return found == pieces.end() ? -1 : static_cast<std::int32_t>(found - pieces.begin());
}

void expect_empty(const io::JsonField& field) {
  if (!field.is_null() && field.value() != "") field.throw_unexpected(", not null");
}

void parse_unigram(const io::JsonField& model, SubwordFile& out) {
  out.model = SubwordFile::Model::unigram;
  if (model["byte_fallback"].as_switch().value_or(false))
    model["byte_fallback"].throw_unexpected(", not false");
  for (const Json& entry : model["vocab"].as<std::vector<Json>>()) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      model["vocab"].refuse("not a list of pieces with their scores");
    out.pieces.push_back(entry[0].get<std::string>());
    out.scores.push_back(entry[1].get<double>());
  }
  const auto unknown = model["unk_id"].as_number<std::int32_t>();
  if (!unknown || *unknown < 0 || *unknown >= std::ssize(out.pieces))
    model["unk_id"].throw_unexpected(", not the id of a piece");
  out.unknown = *unknown;
}

// Throws UsageError if the id is so far beyond the number of tokens that it must be a mistake. A
// table indexed by it would need too much memory.
std::int32_t close_id(const io::JsonField& field, std::size_t tokens) {
  const std::int32_t id = token_id_of(field);
  if (static_cast<std::size_t>(id) > 8 * tokens + 1024)
    field.throw_unexpected(str(", far more than the number of tokens, ", tokens));
  return id;
}

void parse_pieces(const io::JsonField& vocab, SubwordFile& out) {
  if (!vocab.value().is_object()) vocab.throw_unexpected(", not an object of pieces and ids");
  for (const auto& [piece, id] : vocab.value().items()) {
    const auto at = static_cast<std::size_t>(close_id(vocab[piece], vocab.value().size()));
    if (at >= out.pieces.size()) out.pieces.resize(at + 1);
    if (!out.pieces[at].empty())
      vocab.refuse(str("wrong: id ", at, " is both '", out.pieces[at], "' and '", piece, "'"));
    out.pieces[at] = piece;
  }
}

// Finds the ids of pieces by their text.
class PieceIds {
 public:
  explicit PieceIds(const std::vector<std::string>& pieces) {
    for (std::size_t id = 0; id < pieces.size(); ++id)
      ids_.emplace(pieces[id], static_cast<std::int32_t>(id));
  }
  // Adds the merge of two pieces. `number` is its index in the list, for messages.
  void add_merge(std::string_view left, std::string_view right, const std::string& where,
                 SubwordFile& out) const {
    const auto one = ids_.find(left), two = ids_.find(right);
    if (left.empty() || right.empty() || one == ids_.end() || two == ids_.end())
      throw UsageError(str(where, ": merge ", out.merges.size(), ", '", left, "' and '", right,
                           "', is not of two pieces of the vocabulary"),
                       "use the vocabulary and the merges of one model");
    out.merges.emplace_back(one->second, two->second);
  }

 private:
  std::unordered_map<std::string_view, std::int32_t> ids_;
};

// Adds a merge that is written as two pieces separated by a space.
void add_merge_line(std::string_view line, const std::string& where, const PieceIds& ids,
                    SubwordFile& out) {
  const std::size_t space = line.find(' ');
  ids.add_merge(line.substr(0, space),
                space == std::string_view::npos ? "" : line.substr(space + 1), where, out);
}

void parse_bpe(const io::JsonField& model, const std::string& path, SubwordFile& out) {
  out.model = SubwordFile::Model::bpe;
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"})
    expect_empty(model[field]);
  if (model["byte_fallback"].as_switch().value_or(false))
    model["byte_fallback"].throw_unexpected(", not false");
  if (const Json& dropout = model["dropout"].value(); !dropout.is_null() && dropout != 0)
    model["dropout"].throw_unexpected(", not null");
  out.fuse_unknown = model["fuse_unk"].as_switch().value_or(false);
  out.ignore_merges = model["ignore_merges"].as_switch().value_or(false);
  parse_pieces(model["vocab"], out);
  if (const io::JsonField unknown = model["unk_token"]; !unknown.is_null()) {
    out.unknown = id_of(out.pieces, unknown.as<std::string>());
    if (out.unknown < 0) unknown.throw_unexpected(", which is not a piece");
  }
  const PieceIds ids(out.pieces);
  for (const Json& merge : model["merges"].as<std::vector<Json>>()) {
    if (merge.is_string())
      add_merge_line(merge.get<std::string>(), path, ids, out);
    else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
      ids.add_merge(merge[0].get<std::string>(), merge[1].get<std::string>(), path, out);
    else
      model["merges"].refuse("not a list of pairs of pieces");
  }
}

void parse_metaspace(const io::JsonField& step, PreTokenizer& out) {
  out.kind = PreTokenizer::Kind::metaspace;
  step["replacement"].expect(kWordSign);
  out.splits = step["split"].as_switch().value_or(true);
  const auto scheme = step["prepend_scheme"].as<std::string>(
      step["add_prefix_space"].as_switch().value_or(true) ? "always" : "never");
  const auto found =
      std::ranges::find(kSchemes, scheme, [](const auto& known) { return known.first; });
  if (found == kSchemes.end())
    step["prepend_scheme"].throw_unexpected(", not never, first or always");
  out.prepend = found->second;
}

PreTokenizer parse_pre_tokenizer(const io::JsonField& field, const std::string& path) {
  PreTokenizer out;
  std::vector<Json> steps{field.value()};
  if (field["type"].value() == "Sequence") steps = field["pretokenizers"].as<std::vector<Json>>();
  if (steps.size() == 2 && steps[0].is_object() &&
      steps[0].value("type", Json()) == "WhitespaceSplit") {
    out.splits_spaces = true;
    steps.erase(steps.begin());
  }
  if (steps.size() != 1) field.throw_unexpected(", not one step");
  const io::JsonField step(steps[0], path, kSubwordHint);
  if (step["type"].value() == "ByteLevel" && !out.splits_spaces) {
    out.kind = PreTokenizer::Kind::byte_level;
    out.add_prefix_space = step["add_prefix_space"].as_switch().value_or(true);
    out.use_regex = step["use_regex"].as_switch().value_or(true);
  } else if (step["type"].value() == "Metaspace") {
    parse_metaspace(step, out);
  } else {
    field.throw_unexpected(", not Metaspace or ByteLevel");
  }
  return out;
}

OrderedJson pre_tokenizer_json(const PreTokenizer& p) {
  if (p.kind == PreTokenizer::Kind::byte_level)
    return {{"type", "ByteLevel"},
            {"add_prefix_space", p.add_prefix_space},
            {"trim_offsets", true},
            {"use_regex", p.use_regex}};
  OrderedJson metaspace{{"type", "Metaspace"}, {"replacement", kWordSign}};
  for (const auto& [name, scheme] : kSchemes)
    if (scheme == p.prepend) metaspace["prepend_scheme"] = name;
  metaspace["split"] = p.splits;
  if (!p.splits_spaces) return metaspace;
  OrderedJson steps = OrderedJson::array();
  steps.push_back({{"type", "WhitespaceSplit"}});
  steps.push_back(metaspace);
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

std::vector<AddedToken> added_tokens_of(const io::JsonField& root, const std::string& path,
                                        std::size_t pieces) {
  std::vector<AddedToken> out;
  if (root["added_tokens"].is_null()) return out;
  for (const Json& added : root["added_tokens"].as<std::vector<Json>>()) {
    const io::JsonField field(added, path, kSubwordHint);
    out.push_back(parse_added_token(field, close_id(field["id"], pieces)));
  }
  std::ranges::sort(out, {}, &AddedToken::id);
  return out;
}

// Throws UsageError if a file with [CLS] adds other tokens around a text than smelt does.
void check_tokens_around(const io::JsonField& processor, const std::string& path,
                         const SubwordFile& file) {
  const bool has_cls = id_of(file.pieces, "[CLS]") >= 0 ||
                       std::ranges::count(file.added, "[CLS]", &AddedToken::content) > 0;
  if (!has_cls) return;
  if (processor["type"].value() == "Sequence") {
    for (const Json& step : processor["processors"].as<std::vector<Json>>())
      check_tokens_around(io::JsonField(step, path, kSubwordHint), path, file);
    return;
  }
  if (processor["type"].value() != "TemplateProcessing") return;
  std::vector<std::string> around;
  for (const Json& step : processor["single"].as<std::vector<Json>>())
    for (const auto& [kind, said] : step.items())
      around.push_back(said.value("id", Json()).is_string() ? said["id"].get<std::string>() : "");
  if (around != std::vector<std::string>{"[CLS]", "A", "[SEP]"})
    processor["single"].throw_unexpected(", not [CLS] A [SEP]");
}

// Returns the tokens around a single text, with "A" for the text. Empty if the post-processor adds
// none.
std::vector<std::string> tokens_around(const Json& processor) {
  std::vector<std::string> out;
  if (!processor.is_object()) return out;
  const Json type = processor.value("type", Json());
  if (type == "Sequence" && processor.value("processors", Json()).is_array()) {
    for (const Json& step : processor["processors"].elements())
      if (out = tokens_around(step); !out.empty()) break;
  } else if (type == "RobertaProcessing") {
    const auto token = [&](const char* role) {
      const Json said = processor.value(role, Json());
      return said.is_array() && !said.empty() && said[0].is_string() ? said[0].get<std::string>()
                                                                     : std::string();
    };
    out = {token("cls"), "A", token("sep")};
  } else if (type == "TemplateProcessing" && processor.value("single", Json()).is_array()) {
    for (const Json& step : processor["single"].elements())
      for (const auto& [kind, said] : step.items())
        out.push_back(said.is_object() ? said.value("id", "") : std::string());
  }
  return out;
}

bool is_bpe(const Json& model) {
  return model.value("type", Json()) == "BPE" || model.contains("merges");
}

OrderedJson merges_json(const SubwordFile& file) {
  // The older format, in which a space separates the two pieces, is supported by all versions.
  const bool has_spaces = std::ranges::any_of(
      file.pieces, [](const std::string& p) { return p.find(' ') != std::string::npos; });
  OrderedJson merges = OrderedJson::array();
  for (const auto& [left, right] : file.merges) {
    const std::string& one = file.pieces[static_cast<std::size_t>(left)];
    const std::string& two = file.pieces[static_cast<std::size_t>(right)];
    if (has_spaces)
      merges.push_back(OrderedJson::array({one, two}));
    else
      merges.push_back(str(one, " ", two));
  }
  return merges;
}

OrderedJson model_json(const SubwordFile& file) {
  if (file.model == SubwordFile::Model::unigram) {
    OrderedJson vocab = OrderedJson::array();
    for (std::size_t id = 0; id < file.pieces.size(); ++id)
      vocab.push_back(OrderedJson::array({file.pieces[id], file.scores[id]}));
    return {
        {"type", "Unigram"}, {"unk_id", file.unknown}, {"vocab", vocab}, {"byte_fallback", false}};
  }
  OrderedJson vocab = OrderedJson::object();
  for (std::size_t id = 0; id < file.pieces.size(); ++id)
    if (!file.pieces[id].empty()) vocab[file.pieces[id]] = id;
  const OrderedJson unknown =
      file.unknown < 0 ? OrderedJson(nullptr)
                       : OrderedJson(file.pieces[static_cast<std::size_t>(file.unknown)]);
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", file.fuse_unknown},
          {"byte_fallback", false},
          {"ignore_merges", file.ignore_merges},
          {"vocab", vocab},
          {"merges", merges_json(file)}};
}

// Returns the ByteLevel decoder, which is also a post-processor that excludes spaces from offsets.
Json byte_level_step() {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", true},
          {"trim_offsets", true},
          {"use_regex", true}};
}

const PreTokenizer kPlainByteLevel{.kind = PreTokenizer::Kind::byte_level,
                                   .add_prefix_space = false};

// Logs a warning, once for each file, if the tokenizer class of a vocab.json may split text
// differently from GPT-2's.
void warn_of_other_class(const std::string& path, const std::string& name) {
  constexpr std::array<std::string_view, 8> kKnown{"",
                                                   "GPT2Tokenizer",
                                                   "BartTokenizer",
                                                   "DebertaTokenizer",
                                                   "LEDTokenizer",
                                                   "LongformerTokenizer",
                                                   "TokenizersBackend",
                                                   "PreTrainedTokenizer"};
  static std::mutex mutex;
  static std::set<std::string> warned;
  if (std::ranges::find(kKnown, name) != kKnown.end()) return;
  const std::lock_guard lock(mutex);
  if (warned.insert(path).second)
    log_warning(
        "{}: is read as GPT-2's, but tokenizer_class is {}, which may give other ids; use its "
        "tokenizer.json",
        path, name);
}

// Adds what RoBERTa's tokenizer has beyond GPT-2's: special tokens, <s> and </s> around a text, and
// the space before a text if tokenizer_config.json sets add_prefix_space.
void make_roberta(const std::string& path, SubwordFile& out) {
  const std::string config = io::join_path(io::parent_path(path), "tokenizer_config.json");
  const Json settings = io::exists(config)
                            ? Json::parse_or_discard(io::read_file(config, io::kSmallFileBytes))
                            : Json();
  const bool prefix = settings.is_object() && settings.value("add_prefix_space", Json()) == true;
  out.pre_tokenizer.add_prefix_space = prefix;
  out.added = added_tokens_beside(path, out.pieces, roberta_tokens(out.pieces));
  out.post_processor = {{"type", "RobertaProcessing"},
                        {"sep", {"</s>", id_of(out.pieces, "</s>")}},
                        {"cls", {"<s>", id_of(out.pieces, "<s>")}},
                        {"trim_offsets", true},
                        {"add_prefix_space", prefix}};
}

// Loads GPT-2's format: a byte-level BPE without a file for its settings.
SubwordFile load_pieces_and_merges(const std::string& path) {
  const Json file = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  SubwordFile out;
  out.model = SubwordFile::Model::bpe;
  out.pre_tokenizer = kPlainByteLevel;
  parse_pieces(io::JsonField(file, path, kSubwordHint), out);
  const PieceIds ids(out.pieces);
  const std::string merges = merges_path(path), text = io::read_file(merges, io::kSmallFileBytes);
  for (std::string_view line : smelt::split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) add_merge_line(line, merges, ids, out);
  }
  out.decoder = byte_level_step();
  const std::string its_class = tokenizer_class_beside(path);
  if (its_class == "RobertaTokenizer")
    make_roberta(path, out);
  else
    warn_of_other_class(path, its_class);
  return out;
}

}  // namespace

std::vector<AddedToken> roberta_tokens(const std::vector<std::string>& pieces) {
  std::vector<AddedToken> out;
  for (const char* content : {"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
    if (const std::int32_t id = id_of(pieces, content); id >= 0)
      out.push_back({.id = id,
                     .content = content,
                     .lstrip = std::string_view(content) == "<mask>",
                     .normalized = false,
                     .special = true});
  return out;
}

OrderedJson template_around(std::int32_t cls, std::int32_t sep) {
  const auto token = [](const char* content, int type) {
    return OrderedJson{{"SpecialToken", {{"id", content}, {"type_id", type}}}};
  };
  const auto text = [](const char* name, int type) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  const OrderedJson one{token("[CLS]", 0), text("A", 0), token("[SEP]", 0)};
  OrderedJson two = one, tokens;
  two.push_back(text("B", 1));
  two.push_back(token("[SEP]", 1));
  for (const auto& [content, id] : {std::pair{"[CLS]", cls}, {"[SEP]", sep}})
    tokens[content] = {{"id", content}, {"ids", {id}}, {"tokens", {content}}};
  return {
      {"type", "TemplateProcessing"}, {"single", one}, {"pair", two}, {"special_tokens", tokens}};
}

bool is_subword_json(std::string_view text) {
  if (!text.starts_with('{')) return false;
  const Json file = Json::parse_or_discard(text);
  if (!file.is_object() || !file.value("model", Json()).is_object()) return false;
  const Json& model = file["model"];
  if (is_bpe(model)) return true;
  if (model.value("type", Json()) != "Unigram") return false;
  const Json added = file.value("added_tokens", Json());
  return added.is_array() && std::ranges::any_of(added.elements(), [](const Json& token) {
           const Json content = token.is_object() ? token.value("content", Json()) : Json();
           return content == "[MASK]" || content == "<mask>";
         });
}

bool is_pieces_file(const std::string& path) {
  const std::string merges = merges_path(path);
  return !merges.empty() && io::exists(path) && io::exists(merges);
}

bool is_subword_file(const std::string& path) {
  if (is_encoder_spm(path)) return true;
  if (!is_tokenizer_json(path) || !io::exists(path)) return false;
  return is_pieces_file(path) || is_subword_json(io::read_file(path, io::kSmallFileBytes));
}

SubwordFile parse_subword_json(std::string_view text, const std::string& path) {
  const Json file = Json::parse_or_discard(text);
  if (!file.is_object()) throw UsageError(str(path, ": is not a JSON object"), kSubwordHint);
  const io::JsonField root(file, path, kSubwordHint);
  const io::JsonField model = root["model"];
  SubwordFile out;
  if (model.value().is_object() && is_bpe(model.value())) {
    parse_bpe(model, path, out);
  } else {
    model["type"].expect("Unigram");
    parse_unigram(model, out);
  }
  out.normalizer = parse_normalizer_steps(root["normalizer"], path, kSubwordHint);
  out.pre_tokenizer = parse_pre_tokenizer(root["pre_tokenizer"], path);
  out.post_processor = root["post_processor"].value();
  out.decoder = root["decoder"].value();
  out.added = added_tokens_of(root, path, out.pieces.size());
  check_tokens_around(root["post_processor"], path, out);
  return out;
}

std::string subword_json(const SubwordFile& file) {
  OrderedJson added = OrderedJson::array();
  for (const AddedToken& token : file.added) {
    OrderedJson one{{"id", token.id}};
    one.update(added_token_json(token));
    added.push_back(one);
  }
  const OrderedJson out{{"version", "1.0"},
                        {"truncation", nullptr},
                        {"padding", nullptr},
                        {"added_tokens", added},
                        {"normalizer", normalizer_json(file.normalizer)},
                        {"pre_tokenizer", pre_tokenizer_json(file.pre_tokenizer)},
                        {"post_processor", OrderedJson(file.post_processor)},
                        {"decoder", OrderedJson(file.decoder)},
                        {"model", model_json(file)}};
  return out.dump(1) + "\n";
}

Json subword_config_json(const SubwordFile& file) {
  Json out{{"tokenizer_class", "PreTrainedTokenizerFast"},
           {"clean_up_tokenization_spaces", false},
           {"model_input_names", {"input_ids", "token_type_ids", "attention_mask"}}};
  // transformers sets this to false otherwise.
  if (file.pre_tokenizer.kind == PreTokenizer::Kind::byte_level)
    out["add_prefix_space"] = file.pre_tokenizer.add_prefix_space;
  for (const AddedToken& token : file.added)
    out["added_tokens_decoder"][std::to_string(token.id)] =
        Json::parse(added_token_json(token).dump());
  return out;
}

const SpecialTokenNames& special_tokens_of(const SubwordFile& file) {
  const bool is_framed =
      tokens_around(file.post_processor) == std::vector<std::string>{"<s>", "A", "</s>"};
  return is_framed ? kRobertaTokens : kBertTokens;
}

SubwordFile load_subword_file(const std::string& path) {
  if (is_pieces_file(path)) return load_pieces_and_merges(path);
  if (is_encoder_spm(path)) return load_encoder_spm(path);
  return parse_subword_json(io::read_file(path, io::kSmallFileBytes), path);
}

std::string merges_path(const std::string& path) {
  if (!path.ends_with(kPieces)) return {};
  return path.substr(0, path.size() - std::string_view(kPieces).size()) + kMerges;
}

std::string merges_text(const SubwordFile& file) {
  std::string out = "#version: 0.2\n";
  for (const auto& [left, right] : file.merges)
    out += str(file.pieces[static_cast<std::size_t>(left)], " ",
               file.pieces[static_cast<std::size_t>(right)], "\n");
  return out;
}

std::string pieces_json(const SubwordFile& file) { return model_json(file)["vocab"].dump() + "\n"; }

std::vector<NormalizerStep> own_normalizer(SubwordKind kind, TokenizerOptions options) {
  using Step = NormalizerStep::Kind;
  const bool is_plain =
      kind == SubwordKind::byte_bpe && !options.lower_case && !options.strips_accents();
  if (is_plain) options.nfc = true;
  options.split_chinese = false;
  std::vector<NormalizerStep> steps = normalizer_steps(options);
  if (is_plain) {
    steps.pop_back();  // remove BERT's step, which would drop control characters
    return steps;
  }
  steps.push_back({.kind = Step::replace_spaces, .content = " "});
  steps.push_back({.kind = Step::strip, .left = false});
  return steps;
}

bool is_plain_byte_level(const SubwordFile& file) {
  return file.normalizer.empty() && file.pre_tokenizer == kPlainByteLevel;
}

void make_plain_byte_level(SubwordFile& file) {
  file.normalizer.clear();
  file.pre_tokenizer = kPlainByteLevel;
}

SubwordFile own_subword_file(SubwordKind kind, std::vector<std::string> pieces,
                             const TokenizerOptions& options) {
  SubwordFile out;
  out.model = kind == SubwordKind::unigram ? SubwordFile::Model::unigram : SubwordFile::Model::bpe;
  out.pieces = std::move(pieces);
  out.normalizer = own_normalizer(kind, options);
  const OrderedJson around =
      template_around(id_of(out.pieces, "[CLS]"), id_of(out.pieces, "[SEP]"));
  if (kind == SubwordKind::byte_bpe) {
    out.pre_tokenizer = {.kind = PreTokenizer::Kind::byte_level, .add_prefix_space = true};
    OrderedJson steps = OrderedJson::array();
    steps.push_back(OrderedJson(byte_level_step()));
    steps.push_back(around);
    out.post_processor = Json(OrderedJson{{"type", "Sequence"}, {"processors", steps}});
    out.decoder = byte_level_step();
  } else {
    out.unknown = id_of(out.pieces, "[UNK]");
    out.fuse_unknown = true;
    out.post_processor = Json(around);
    out.decoder = {{"type", "Metaspace"}, {"replacement", kWordSign}, {"prepend_scheme", "first"}};
  }
  for (const std::string_view special : kSpecialTokens)
    out.added.push_back({.id = id_of(out.pieces, special),
                         .content = std::string(special),
                         .lstrip = special == "[MASK]",
                         .normalized = false,
                         .special = true});
  std::ranges::sort(out.added, {}, &AddedToken::id);
  return out;
}

}  // namespace smelt::text
