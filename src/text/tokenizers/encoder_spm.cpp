#include "text/tokenizers/encoder_spm.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/wire.h"
#include "text/tokenizers/precompiled_map.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::text {
namespace {

constexpr std::string_view kSpmHint = "give the spm.model of a DeBERTa-v3, or its tokenizer.json";
constexpr const char *kXlmRoberta = "XLMRobertaTokenizer", *kCamembert = "CamembertTokenizer";

// Types of pieces and of models, with their numbers in sentencepiece_model.proto.
constexpr std::uint64_t kNormalPiece = 1, kControlPiece = 3, kUserPiece = 4, kUnigramModel = 1;

struct SpmPiece {
  std::string text;
  float score = 0;
  std::uint64_t type = kNormalPiece;
};

// The parts of a serialized ModelProto that Hugging Face's tokenizers use.
struct SpmModel {
  std::vector<SpmPiece> pieces;
  std::uint64_t model_type = kUnigramModel;
  std::int32_t unknown = 0;
  std::string character_map;
};

SpmPiece spm_piece(std::string_view bytes, std::string_view what) {
  SpmPiece out;
  io::WireReader in(bytes, what);
  while (const auto field = in.next()) {
    if (field->number == 1) out.text = field->bytes;
    if (field->number == 2) out.score = field->f32();
    if (field->number == 3) out.type = field->bits;
  }
  return out;
}

SpmModel parse_spm(std::string_view bytes, std::string_view what) {
  SpmModel out;
  io::WireReader in(bytes, what);
  while (const auto field = in.next()) {
    io::WireReader inner(field->bytes, what);
    if (field->number == 1) out.pieces.push_back(spm_piece(field->bytes, what));
    if (field->number == 2)  // trainer_spec
      while (const auto one = inner.next()) {
        if (one->number == 3) out.model_type = one->bits;
        if (one->number == 40) out.unknown = static_cast<std::int32_t>(one->integer());
      }
    if (field->number == 3)  // normalizer_spec
      while (const auto one = inner.next())
        if (one->number == 2) out.character_map = one->bytes;
  }
  return out;
}

std::optional<std::int32_t> find_piece(const SpmModel& model, std::string_view text) {
  const auto found = std::ranges::find(model.pieces, text, &SpmPiece::text);
  if (found == model.pieces.end()) return std::nullopt;
  return static_cast<std::int32_t>(found - model.pieces.begin());
}

// Returns the content of tokenizer_config.json in the same folder, or an empty object if it is
// missing.
Json config_beside_spm(const std::string& path) {
  const std::string config = io::join_path(io::parent_path(path), "tokenizer_config.json");
  const Json out = io::exists(config)
                       ? Json::parse_or_discard(io::read_file(config, io::kSmallFileBytes))
                       : Json();
  return out.is_object() ? out : Json::object();
}

// Appends the model's character map to a normalizer, if it has one.
void add_character_map(const SpmModel& model, const std::string& path,
                       std::vector<NormalizerStep>& out) {
  if (model.character_map.empty()) return;
  if (!PrecompiledMap::parse(model.character_map))
    throw UsageError(str(path, ": its precompiled_charsmap is damaged"), std::string(kSpmHint));
  out.push_back({.kind = NormalizerStep::Kind::precompiled, .content = model.character_map});
}

std::vector<NormalizerStep> spm_normalizer(const SpmModel& model, bool lower_case,
                                           const std::string& path) {
  using Step = NormalizerStep::Kind;
  std::vector<NormalizerStep> out;
  if (lower_case) out.push_back({.kind = Step::lower_case});
  out.push_back({.kind = Step::strip});
  add_character_map(model, path, out);
  out.push_back({.kind = Step::replace_spaces, .content = " "});
  return out;
}

// Returns the tokens that are found as a whole: control and user-defined pieces, and [MASK].
std::vector<AddedToken> spm_added(const SpmModel& model) {
  std::vector<AddedToken> out;
  const auto add = [&](std::int32_t id, std::string_view text, bool special) {
    out.push_back(
        {.id = id, .content = std::string(text), .normalized = false, .special = special});
  };
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SpmPiece& piece = model.pieces[id];
    const bool is_special = is_special_token(piece.text);
    if (piece.type == kControlPiece || piece.type == kUserPiece || is_special)
      add(static_cast<std::int32_t>(id), piece.text, is_special || piece.type == kControlPiece);
  }
  if (!find_piece(model, "[MASK]"))
    add(static_cast<std::int32_t>(model.pieces.size()), "[MASK]", true);
  return out;
}

// Returns whether the file is the SentencePiece model of an XLM-RoBERTa or a CamemBERT.
bool is_fairseq_spm(const std::string& path) {
  if (io::path_name(path) != kFairseqSpmFile) return false;
  const std::string name = tokenizer_class_beside(path);
  return name == kXlmRoberta || name == kCamembert;
}

// Sets the pieces and their scores in the order of fairseq's dictionary, on which the ids of both
// models are based.
void set_fairseq_pieces(const SpmModel& model, bool is_camembert, SubwordFile& out) {
  const auto add = [&](std::string_view piece, double score) {
    out.pieces.emplace_back(piece);
    out.scores.push_back(score);
  };
  if (is_camembert) {
    for (const char* unused : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>"}) add(unused, 0);
    add("<unk>NOTUSED", -100);
  } else {
    for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) add(special, 0);
  }
  for (std::size_t i = is_camembert ? 1 : 3; i < model.pieces.size(); ++i)
    add(model.pieces[i].text, model.pieces[i].score);
  add("<mask>", 0);
  out.unknown = 3;
}

// Returns the post-processor of both models: <s> A </s>, and <s> A </s></s> B </s> for pairs.
OrderedJson fairseq_template(std::int32_t begin, std::int32_t end) {
  const auto token = [](const char* content) {
    return OrderedJson{{"SpecialToken", {{"id", content}, {"type_id", 0}}}};
  };
  const auto text = [](const char* name) {
    return OrderedJson{{"Sequence", {{"id", name}, {"type_id", 0}}}};
  };
  OrderedJson tokens;
  for (const auto& [content, id] : {std::pair{"<s>", begin}, {"</s>", end}})
    tokens[content] = {{"id", content}, {"ids", {id}}, {"tokens", {content}}};
  return {
      {"type", "TemplateProcessing"},
      {"single", {token("<s>"), text("A"), token("</s>")}},
      {"pair", {token("<s>"), text("A"), token("</s>"), token("</s>"), text("B"), token("</s>")}},
      {"special_tokens", tokens}};
}

SubwordFile load_fairseq_spm(const SpmModel& model, const std::string& path) {
  using Step = NormalizerStep::Kind;
  if (model.model_type != kUnigramModel || model.pieces.size() < 4)
    throw UsageError(str(path, ": is not a Unigram model"),
                     "give the sentencepiece.bpe.model of an XLM-RoBERTa or a CamemBERT");
  SubwordFile out;
  set_fairseq_pieces(model, tokenizer_class_beside(path) == kCamembert, out);
  add_character_map(model, path, out.normalizer);
  out.normalizer.push_back({.kind = Step::strip, .left = false});
  out.normalizer.push_back({.kind = Step::replace_spaces, .content = std::string(kWordSign)});
  out.pre_tokenizer = {.prepend = PreTokenizer::Prepend::always};
  const std::vector<AddedToken> special = roberta_tokens(out.pieces);
  const auto id = [&](std::string_view content) {
    return std::ranges::find(special, content, &AddedToken::content)->id;
  };
  out.post_processor = Json(fairseq_template(id("<s>"), id("</s>")));
  out.decoder = {{"type", "Metaspace"}, {"replacement", kWordSign}, {"prepend_scheme", "always"}};
  out.added = added_tokens_beside(path, out.pieces, special);
  return out;
}

}  // namespace

bool is_encoder_spm(const std::string& path) {
  if (!path.ends_with(".model") || !io::exists(path)) return false;
  try {
    if (is_fairseq_spm(path)) return true;
    const SpmModel model = parse_spm(io::read_file(path, io::kSmallFileBytes), path);
    return model.model_type == kUnigramModel && find_piece(model, "[PAD]") &&
           find_piece(model, "[CLS]") && find_piece(model, "[SEP]");
  } catch (const UsageError&) {
    return false;  // not a SentencePiece model; whoever reads it throws an error
  }
}

SubwordFile load_encoder_spm(const std::string& path) {
  const SpmModel model = parse_spm(io::read_file(path, io::kSmallFileBytes), path);
  if (is_fairseq_spm(path)) return load_fairseq_spm(model, path);
  const Json config = config_beside_spm(path);
  if (config.value("split_by_punct", Json()) == true)
    throw UsageError(str(path, ": split_by_punct in tokenizer_config.json is true, must be false"),
                     std::string(kSpmHint));
  const auto cls = find_piece(model, "[CLS]"), sep = find_piece(model, "[SEP]");
  if (!cls || !sep || model.unknown < 0 || model.unknown >= std::ssize(model.pieces))
    throw UsageError(str(path, ": has no [CLS], [SEP] or unknown piece"), std::string(kSpmHint));
  SubwordFile out;
  for (const SpmPiece& piece : model.pieces) {
    out.pieces.push_back(piece.text);
    out.scores.push_back(piece.score);
  }
  out.unknown = model.unknown;
  out.normalizer = spm_normalizer(model, config.value("do_lower_case", Json()) == true, path);
  out.pre_tokenizer = {.prepend = PreTokenizer::Prepend::always};
  out.post_processor = Json(template_around(*cls, *sep));
  out.decoder = {{"type", "Metaspace"}, {"replacement", kWordSign}, {"prepend_scheme", "always"}};
  out.added = added_tokens_beside(path, out.pieces, spm_added(model));
  return out;
}

}  // namespace smelt::text
