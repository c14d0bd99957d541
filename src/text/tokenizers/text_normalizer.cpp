#include "text/tokenizers/text_normalizer.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

using StepKind = NormalizerStep::Kind;

constexpr std::array<std::pair<const char*, StepKind>, 4> kForms{{{"NFC", StepKind::nfc},
                                                                  {"NFD", StepKind::nfd},
                                                                  {"NFKC", StepKind::nfkc},
                                                                  {"NFKD", StepKind::nfkd}}};
constexpr const char *kSpaceRuns = " {2,}", *kWhiteRuns = R"(\s{2,}|[\n\r\t])";

UChar32 take_character(std::string_view text, std::size_t& at) {
  UChar32 c;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, text.size(), c);
  return c;
}

const icu::Normalizer2& form_of(StepKind kind) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = kind == StepKind::nfc   ? icu::Normalizer2::getNFCInstance(status)
                                 : kind == StepKind::nfd ? icu::Normalizer2::getNFDInstance(status)
                                 : kind == StepKind::nfkc
                                     ? icu::Normalizer2::getNFKCInstance(status)
                                     : icu::Normalizer2::getNFKDInstance(status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  return *form;
}

bool is_normal(const icu::Normalizer2& form, std::string_view text) {
  if (is_ascii(text)) return true;
  UErrorCode status = U_ZERO_ERROR;
  const UBool found =
      form.isNormalizedUTF8({text.data(), static_cast<std::int32_t>(text.size())}, status);
  return U_SUCCESS(status) && found != 0;
}

std::u32string normalised(const icu::Normalizer2& form, std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::UnicodeString result = form.normalize(
      icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())}), status);
  CHECK(U_SUCCESS(status), u_errorName(status));
  std::u32string out;
  for (std::int32_t i = 0; i < result.length(); i = result.moveIndex32(i, 1))
    out += static_cast<char32_t>(result.char32At(i));
  return out;
}

// Appends the normal form of the bytes [begin, end), which do not interact with their neighbours.
// Decomposed characters get the source of the original. If composition leaves fewer characters than
// the decomposition has, the first one keeps the first source and the others get the last sources.
void append_form(StepKind kind, const MappedText& in, std::size_t begin, std::size_t end,
                 MappedText& out) {
  const std::string_view text = in.text;
  const icu::Normalizer2& decompose =
      form_of(kind == StepKind::nfc || kind == StepKind::nfd ? StepKind::nfd : StepKind::nfkd);
  std::vector<MappedText::Source> sources;
  for (std::size_t at = begin; at < end;) {
    const std::size_t first = at;
    take_character(text, at);
    sources.resize(sources.size() + normalised(decompose, text.substr(first, at - first)).size(),
                   in.source(first, at));
  }
  const std::u32string result = normalised(form_of(kind), text.substr(begin, end - begin));
  const std::size_t fewer = sources.size() - std::min(sources.size(), result.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::string bytes;
    append_utf8(result[i], bytes);
    out.append(bytes, sources[std::min(i == 0 ? 0 : i + fewer, sources.size() - 1)]);
  }
}

MappedText normal_form(StepKind kind, MappedText in) {
  const icu::Normalizer2& form = form_of(kind);
  if (is_normal(form, in.text)) return in;
  MappedText out = in.like();
  std::size_t begin = 0;
  for (std::size_t at = 0; at < in.text.size();) {
    const std::size_t here = at;
    if (form.hasBoundaryBefore(take_character(in.text, at)) && here > begin) {
      append_form(kind, in, begin, here, out);
      begin = here;
    }
  }
  append_form(kind, in, begin, in.text.size(), out);
  return out;
}

MappedText lower_case(const MappedText& in) {
  MappedText out = in.like();
  for (std::size_t at = 0; at < in.text.size();) {
    const std::size_t begin = at;
    const UChar32 c = take_character(in.text, at);
    std::string bytes;
    append_utf8(static_cast<char32_t>(c == 0x130 ? 'i' : u_tolower(c)), bytes);
    if (c == 0x130) append_utf8(0x307, bytes);  // the only character that becomes two
    out.append(bytes, in.source(begin, at));
  }
  return out;
}

// Returns the end of the white space at `at` that a `replace_white` step replaces, or `at`.
std::size_t white_end(std::string_view text, std::size_t at) {
  std::size_t end = at, count = 0;
  while (end < text.size()) {
    std::size_t next = end;
    if (u_isUWhiteSpace(take_character(text, next)) == 0) break;
    end = next;
    ++count;
  }
  constexpr std::string_view kLineEnds = "\n\r\t";
  return count >= 2 || (count == 1 && kLineEnds.find(text[at]) != kLineEnds.npos) ? end : at;
}

// Returns the end of the match of a `replace` step at `at`, or `at` if it does not match.
std::size_t match_end(const NormalizerStep& step, std::string_view text, std::size_t at) {
  if (step.kind == StepKind::replace)
    return text.substr(at).starts_with(step.pattern) ? at + step.pattern.size() : at;
  if (step.kind == StepKind::replace_white)
    return continues_character(text[at]) ? at : white_end(text, at);
  const std::size_t end = std::min(text.find_first_not_of(' ', at), text.size());
  return end - at >= 2 ? end : at;
}

MappedText replaced(const NormalizerStep& step, MappedText in) {
  const bool is_there =
      step.kind == StepKind::replace_white ||
      in.text.find(step.kind == StepKind::replace ? step.pattern : "  ") != std::string::npos;
  if (!is_there) return in;
  MappedText out = in.like();
  for (std::size_t at = 0; at < in.text.size();) {
    const std::size_t end = match_end(step, in.text, at);
    if (end == at) {
      out.append(in, at, at + 1);
      ++at;
      continue;
    }
    // The replacement gets the source of the last replaced character.
    if (!step.content.empty())
      out.append(step.content, in.has_sources ? in.sources[end - 1] : MappedText::Source{});
    at = end;
  }
  return out;
}

MappedText stripped(const NormalizerStep& step, const MappedText& in) {
  std::size_t begin = 0, end = in.text.size();
  while (step.left && begin < end) {
    std::size_t next = begin;
    if (u_isUWhiteSpace(take_character(in.text, next)) == 0) break;
    begin = next;
  }
  while (step.right && end > begin) {
    auto last = static_cast<std::int32_t>(end);
    UChar32 c;
    U8_PREV(reinterpret_cast<const std::uint8_t*>(in.text.data()), 0, last, c);
    if (u_isUWhiteSpace(c) == 0) break;
    end = static_cast<std::size_t>(last);
  }
  MappedText out = in.like();
  out.append(in, begin, end);
  return out;
}

NormalizerStep bert_step(const io::JsonField& step) {
  if (!step["clean_text"].as_switch().value_or(true))
    step["clean_text"].throw_unexpected(", not true");
  if (step["handle_chinese_chars"].as_switch().value_or(true))
    step["handle_chinese_chars"].throw_unexpected(", not false");
  return {.kind = StepKind::bert,
          .options = {.lower_case = step["lowercase"].as_switch().value_or(true),
                      .strip_accents = step["strip_accents"].as_switch(),
                      .control = ControlCharacters::electra,
                      .split_chinese = false}};
}

NormalizerStep replace_step(const io::JsonField& step) {
  NormalizerStep out{.kind = StepKind::replace, .content = step["content"].as<std::string>()};
  const io::JsonField pattern = step["pattern"];
  if (pattern["Regex"].value() == kWhiteRuns) {
    out.kind = StepKind::replace_white;
    return out;
  }
  if (!pattern["Regex"].is_null()) {
    pattern["Regex"].expect(kSpaceRuns);
    out.kind = StepKind::replace_spaces;
    return out;
  }
  out.pattern = pattern["String"].as<std::string>();
  if (out.pattern.empty()) pattern["String"].refuse("empty");
  return out;
}

NormalizerStep precompiled_step(const io::JsonField& field) {
  const auto bytes = from_base64(field.as<std::string>());
  if (!bytes || !PrecompiledMap::parse(*bytes))
    field.refuse("not the character map of a SentencePiece model in base64");
  return {.kind = StepKind::precompiled, .content = *bytes};
}

NormalizerStep parse_step(const io::JsonField& step) {
  const std::string type = step["type"].as<std::string>("");
  for (const auto& [name, kind] : kForms)
    if (type == name) return {.kind = kind};
  if (type == "BertNormalizer") return bert_step(step);
  if (type == "Lowercase") return {.kind = StepKind::lower_case};
  if (type == "Replace") return replace_step(step);
  if (type == "Precompiled") return precompiled_step(step["precompiled_charsmap"]);
  if (type == "Strip")
    return {.kind = StepKind::strip,
            .left = step["strip_left"].as_switch().value_or(true),
            .right = step["strip_right"].as_switch().value_or(true)};
  step["type"].throw_unexpected(
      ", not BertNormalizer, NFC, NFD, NFKC, NFKD, Lowercase, Precompiled, Replace or Strip");
}

OrderedJson step_json(const NormalizerStep& step) {
  for (const auto& [name, kind] : kForms)
    if (step.kind == kind) return {{"type", name}};
  if (step.kind == StepKind::lower_case) return {{"type", "Lowercase"}};
  if (step.kind == StepKind::strip)
    return {{"type", "Strip"}, {"strip_left", step.left}, {"strip_right", step.right}};
  if (step.kind == StepKind::replace)
    return {
        {"type", "Replace"}, {"pattern", {{"String", step.pattern}}}, {"content", step.content}};
  if (step.kind == StepKind::precompiled)
    return {{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(step.content)}};
  if (step.kind == StepKind::replace_spaces || step.kind == StepKind::replace_white)
    return {
        {"type", "Replace"},
        {"pattern", {{"Regex", step.kind == StepKind::replace_spaces ? kSpaceRuns : kWhiteRuns}}},
        {"content", step.content}};
  const auto& accents = step.options.strip_accents;
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", step.options.split_chinese},
          {"strip_accents", accents ? OrderedJson(*accents) : OrderedJson(nullptr)},
          {"lowercase", step.options.lower_case}};
}

}  // namespace

std::vector<NormalizerStep> parse_normalizer_steps(const io::JsonField& normalizer,
                                                   std::string_view path, std::string_view hint) {
  if (normalizer.is_null()) return {};
  if (normalizer["type"].value() != "Sequence") return {parse_step(normalizer)};
  std::vector<NormalizerStep> steps;
  for (const Json& step : normalizer["normalizers"].as<std::vector<Json>>())
    steps.push_back(parse_step(io::JsonField(step, path, hint)));
  return steps;
}

std::vector<NormalizerStep> normalizer_steps(const TokenizerOptions& options) {
  std::vector<NormalizerStep> steps;
  if (options.nfc) steps.push_back({.kind = StepKind::nfc});
  if (options.zero_width_space)
    steps.push_back({.kind = StepKind::replace, .pattern = "\u200b", .content = " "});
  if (options.turkic_case) {
    steps.push_back({.kind = StepKind::replace, .pattern = "İ", .content = "i"});
    steps.push_back({.kind = StepKind::replace, .pattern = "I", .content = "ı"});
  }
  steps.push_back({.kind = StepKind::bert,
                   .options = {.lower_case = options.lower_case,
                               .strip_accents = options.strip_accents,
                               .control = ControlCharacters::electra,
                               .split_chinese = options.split_chinese}});
  return steps;
}

OrderedJson normalizer_json(const std::vector<NormalizerStep>& steps) {
  if (steps.empty()) return nullptr;
  if (steps.size() == 1) return step_json(steps[0]);
  OrderedJson list = OrderedJson::array();
  for (const NormalizerStep& step : steps) list.push_back(step_json(step));
  return {{"type", "Sequence"}, {"normalizers", list}};
}

TextNormalizer::TextNormalizer(std::vector<NormalizerStep> steps) : steps_(std::move(steps)) {
  for (const NormalizerStep& step : steps_) {
    tables_.push_back(step.kind == StepKind::bert ? &CharacterTable::of(step.options) : nullptr);
    maps_.push_back(nullptr);
    if (step.kind != StepKind::precompiled) continue;
    auto map = PrecompiledMap::parse(step.content);
    CHECK(map.has_value(), "a malformed character map");
    maps_.back() = std::make_shared<const PrecompiledMap>(std::move(*map));
  }
}

MappedText TextNormalizer::apply(MappedText text) const {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const NormalizerStep& step = steps_[i];
    if (tables_[i] != nullptr)
      text = normalise_characters(*tables_[i], text);
    else if (maps_[i] != nullptr)
      text = maps_[i]->apply(text);
    else if (step.kind == StepKind::lower_case)
      text = lower_case(text);
    else if (step.kind == StepKind::strip)
      text = stripped(step, text);
    else if (step.kind == StepKind::replace || step.kind == StepKind::replace_spaces ||
             step.kind == StepKind::replace_white)
      text = replaced(step, std::move(text));
    else
      text = normal_form(step.kind, std::move(text));
  }
  return text;
}

MappedText nfc_text(MappedText text) { return normal_form(StepKind::nfc, std::move(text)); }

// Scans like text/tokenizers/word_scanner.h but keeps white space as spaces.
MappedText normalise_characters(const CharacterTable& table, const MappedText& in) {
  MappedText out = in.like();
  const std::string_view text = in.text;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    const UChar32 c = take_character(text, at);
    if (c < 0) continue;
    const CharacterTable::Entry entry = table[static_cast<char32_t>(c)];
    if (entry.action == CharacterTable::skip) continue;
    if (entry.action == CharacterTable::contextual) {
      at = from;
      std::string bytes;
      for (const char32_t each : table.read_contextual(text, at)) append_utf8(each, bytes);
      out.append(bytes, in.source(from, at));
    } else if (entry.action == CharacterTable::space) {
      out.append(" ", in.source(from, at));
    } else {
      out.append(entry.length == 0 ? text.substr(from, at - from) : table.replacement(entry),
                 in.source(from, at));
    }
  }
  return out;
}

}  // namespace smelt::text
