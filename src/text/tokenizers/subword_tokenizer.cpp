#include "text/tokenizers/subword_tokenizer.h"

#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/bpe_model.h"
#include "text/tokenizers/byte_level.h"
#include "text/tokenizers/script_counts.h"
#include "text/tokenizers/unigram_model.h"

namespace smelt::text {
namespace {

// Returns all pieces by id: those of the model, then the added tokens.
Vocabulary vocabulary_with_added(const SubwordFile& file, const std::string& origin) {
  return Vocabulary(file.pieces, origin, "", file.added, special_tokens_of(file));
}

// Returns the text that the model matches for each id. It is empty for BERT's special tokens, which
// are ordinary text to the tokenizer.
std::vector<std::string> model_texts(const SubwordFile& file, const std::string& origin) {
  std::vector<std::string> out = file.pieces;
  for (std::string& piece : out)
    if (is_special_token(piece))
      piece.clear();
    else if (file.pre_tokenizer.kind == PreTokenizer::Kind::byte_level)
      piece = from_byte_characters(piece).value_or("");
  if (std::ranges::all_of(out, &std::string::empty))
    throw UsageError(str(origin, ": the vocabulary is empty"), "make one with `smelt vocab train`");
  return out;
}

std::unique_ptr<const SubwordModel> model_of(const SubwordFile& file,
                                             const std::vector<std::string>& texts,
                                             const std::string& origin) {
  if (file.model == SubwordFile::Model::unigram)
    return std::make_unique<UnigramModel>(texts, file.scores, file.unknown);
  std::vector<BpeModel::Merge> merges = file.merges;
  std::erase_if(merges, [&](const BpeModel::Merge& merge) {
    return is_special_token(file.pieces[static_cast<std::size_t>(merge.first)] +
                            file.pieces[static_cast<std::size_t>(merge.second)]);
  });
  return std::make_unique<BpeModel>(
      texts, merges,
      BpeSettings{.bytes = file.pre_tokenizer.kind == PreTokenizer::Kind::byte_level,
                  .unknown = file.unknown,
                  .fuse_unknown = file.fuse_unknown,
                  .ignore_merges = file.ignore_merges},
      origin);
}

// Returns whether a piece of this text, which has no word-begin mark, continues the word before it.
bool goes_on(std::string_view text) {
  if (text.empty()) return false;
  if (continues_character(text[0])) return true;  // part of a character that began earlier
  UChar32 c;
  std::size_t at = 0;
  U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.data()), at, text.size(), c);
  if (c < 0) return false;  // first bytes of a character
  constexpr std::uint32_t kOfWords = U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK;
  return (U_GET_GC_MASK(c) & kOfWords) != 0 && !is_written_without_spaces(static_cast<char32_t>(c));
}

// Numbers of leading and trailing white space characters of a token.
struct EndSpaces {
  std::size_t leading, trailing;
};

EndSpaces spaces_at_ends(std::string_view piece) {
  return {std::min(piece.find_first_not_of(' '), piece.size()),
          piece.size() - (piece.find_last_not_of(' ') + 1)};
}

EndSpaces white_space_at_ends(std::string_view text) {
  const std::u32string characters = to_code_points(text);
  const auto is_space = [](char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0; };
  const auto leading = std::ranges::find_if_not(characters, is_space) - characters.begin();
  const auto trailing =
      std::find_if_not(characters.rbegin(), characters.rend(), is_space) - characters.rbegin();
  return {static_cast<std::size_t>(leading), static_cast<std::size_t>(trailing)};
}

// Reads from a post-processor whether offsets exclude the spaces of pieces (`trims`), and whether
// the tokenizer adds a space before a text (`with_prefix`).
void read_trimming(const Json& processor, bool& trims, bool& with_prefix) {
  if (!processor.is_object()) return;
  const Json type = processor.value("type", Json());
  if (type == "Sequence" && processor.value("processors", Json()).is_array())
    for (const Json& step : processor["processors"].elements())
      read_trimming(step, trims, with_prefix);
  if (type != "ByteLevel" && type != "RobertaProcessing") return;
  trims = processor.value("trim_offsets", Json(true)) != false;
  with_prefix = processor.value("add_prefix_space", Json(true)) != false;
}

}  // namespace

// Collects the pieces of a text, with or without their sources.
struct SubwordTokenizer::Sink {
  std::vector<std::int32_t>* ids;  // one of `ids` and `spans` is set
  std::vector<TokenSpan>* spans;
  bool is_first;  // false after a special token
  std::vector<WordPart> parts = {};

  bool has_sources() const { return spans != nullptr; }
  void add(std::int32_t id, MappedText::Source source) {
    if (ids != nullptr)
      ids->push_back(id);
    else
      spans->push_back({id, source.first, source.second});
  }
  void encode(const SubwordModel& model, std::string_view word, const MappedText* text,
              std::size_t begin) {
    parts.clear();
    model.encode(word, parts);
    for (const WordPart& part : parts) {
      add(part.id,
          text == nullptr ? MappedText::Source{} : text->source(begin, begin + part.bytes));
      begin += part.bytes;
    }
  }
};

SubwordTokenizer::SubwordTokenizer(const std::string& path)
    : SubwordTokenizer(load_subword_file(path), path) {}

SubwordTokenizer::SubwordTokenizer(SubwordFile file, const std::string& origin)
    : file_(std::move(file)),
      vocabulary_(vocabulary_with_added(file_, origin)),
      normalizer_(file_.normalizer),
      texts_(model_texts(file_, origin)) {
  model_ = model_of(file_, texts_, origin);
  texts_.resize(static_cast<std::size_t>(size()));
  for (const AddedToken& token : file_.added) {
    texts_[static_cast<std::size_t>(token.id)] = token.content;
    added_ids_.insert(token.id);
    if (is_special_token(token.content)) continue;
    if (token.normalized)
      normalized_.add(normalizer_.apply(MappedText::of(token.content, 0, false)).text, token);
    else
      as_written_.add(token.content, token);
  }
  for (const char* name : {"[UNK]", "<unk>"})
    if (const auto id = vocabulary_.find(name); id && unknown_ < 0) unknown_ = *id;
  if (file_.unknown >= 0) unknown_ = file_.unknown;
  for (std::int32_t id = 0; id < size(); ++id)
    continues_.push_back(!added_ids_.contains(id) && goes_on(texts_[static_cast<std::size_t>(id)]));
  read_trimming(file_.post_processor, trims_, trims_with_prefix_);
}

TokenizerOptions SubwordTokenizer::options() const {
  TokenizerOptions out{.lower_case = false,
                       .strip_accents = false,
                       .control = ControlCharacters::electra,
                       .split_chinese = false};
  for (const NormalizerStep& step : file_.normalizer) {
    if (step.kind == NormalizerStep::Kind::bert) out = step.options;
    if (step.kind == NormalizerStep::Kind::lower_case) out.lower_case = true;
  }
  for (const AddedToken& token : file_.added)
    if (!is_special_token(token.content)) out.added.push_back(token);
  return out;
}

void SubwordTokenizer::encode_part(std::string_view utf8, bool is_first,
                                   std::vector<std::int32_t>& ids) const {
  Sink sink{.ids = &ids, .spans = nullptr, .is_first = is_first};
  find_parts(utf8, sink);
}

std::vector<TokenSpan> SubwordTokenizer::encode_with_offsets(std::string_view utf8) const {
  std::vector<TokenSpan> spans;
  Sink sink{.ids = nullptr, .spans = &spans, .is_first = true};
  find_parts(utf8, sink);
  if (trims_) trim(utf8, spans);
  return spans;
}

void SubwordTokenizer::find_parts(std::string_view utf8, Sink& sink) const {
  as_written_.for_each(
      utf8, nullptr, [&](const AddedToken* token, std::size_t begin, std::size_t end) {
        if (token != nullptr) return sink.add(token->id, {begin, end});
        const std::string_view part = utf8.substr(begin, end - begin);
        if (is_byte_level() && normalizer_.empty() && normalized_.empty() && !sink.has_sources())
          return split_bytes(part, sink);
        // split_metaspace() uses the sources to detect the beginning of the text.
        const bool keep_sources = sink.has_sources() || !is_byte_level();
        split_normalised(normalizer_.apply(MappedText::of(part, begin, keep_sources)), sink);
      });
}

void SubwordTokenizer::split_normalised(const MappedText& text, Sink& sink) const {
  normalized_.for_each(text.text, nullptr,
                       [&](const AddedToken* token, std::size_t begin, std::size_t end) {
                         if (token != nullptr) return sink.add(token->id, text.source(begin, end));
                         MappedText part = text.like();
                         part.append(text, begin, end);
                         if (is_byte_level())
                           split_bytes(part, sink);
                         else
                           split_metaspace(part, sink);
                       });
}

// Splits a text as the Metaspace pre-tokenizer does: replaces spaces by the space sign, adds it at
// the beginning and splits before each sign, as far as the rules in the file require.
void SubwordTokenizer::split_metaspace(const MappedText& text, Sink& sink) const {
  const PreTokenizer& rules = file_.pre_tokenizer;
  using Prepend = PreTokenizer::Prepend;
  MappedText words = text.like();
  const auto end_words = [&] {
    if (!words.text.empty()) encode_words(words, sink);
    words = text.like();
  };
  for (std::size_t at = 0; at < text.text.size();) {
    const std::size_t begin = at;
    UChar32 c;
    U8_NEXT(reinterpret_cast<const std::uint8_t*>(text.text.data()), at, text.text.size(), c);
    const MappedText::Source source = text.source(begin, at);
    if (rules.splits_spaces && u_isUWhiteSpace(c) != 0) {
      end_words();
      continue;
    }
    const bool is_sign = c == ' ' || c == 0x2581;
    const bool prepends =
        rules.prepend == Prepend::always ||
        (rules.prepend == Prepend::first && sink.is_first && source.first == 0 && begin == 0);
    if (words.text.empty() && prepends && !is_sign) words.append(kWordSign, source);
    words.append(is_sign ? kWordSign : std::string_view(text.text).substr(begin, at - begin),
                 source);
  }
  end_words();
}

void SubwordTokenizer::encode_words(const MappedText& words, Sink& sink) const {
  const std::string_view text = words.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end =
        file_.pre_tokenizer.splits
            ? std::min(text.find(kWordSign, std::min(begin + 1, text.size())), text.size())
            : text.size();
    sink.encode(*model_, text.substr(begin, end - begin), &words, begin);
    begin = end;
  }
}

void SubwordTokenizer::split_bytes(const MappedText& text, Sink& sink) const {
  if (text.text.empty()) return;
  MappedText spaced = text.like();
  if (file_.pre_tokenizer.add_prefix_space && !text.text.starts_with(' ')) {
    std::size_t first = 1;
    while (first < text.text.size() && continues_character(text.text[first])) ++first;
    spaced.append(" ", text.source(0, first));
  }
  spaced.append(text, 0, text.text.size());
  for (std::size_t begin = 0; begin < spaced.text.size();) {
    const std::size_t end = file_.pre_tokenizer.use_regex ? byte_level_word_end(spaced.text, begin)
                                                          : spaced.text.size();
    sink.encode(*model_, std::string_view(spaced.text).substr(begin, end - begin), &spaced, begin);
    begin = end;
  }
}

// Splits a byte-level text; does not track sources.
void SubwordTokenizer::split_bytes(std::string_view text, Sink& sink) const {
  std::string spaced;
  if (file_.pre_tokenizer.add_prefix_space && !text.empty() && !text.starts_with(' ')) {
    spaced.reserve(text.size() + 1);
    spaced += ' ';
    spaced += text;
    text = spaced;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end =
        file_.pre_tokenizer.use_regex ? byte_level_word_end(text, begin) : text.size();
    sink.encode(*model_, text.substr(begin, end - begin), nullptr, 0);
    begin = end;
  }
}

// Excludes the spaces of pieces from their offsets, like process_offsets in Hugging Face's library.
void SubwordTokenizer::trim(std::string_view utf8, std::vector<TokenSpan>& spans) const {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    TokenSpan& span = spans[i];
    // An added token may include white space of the text.
    const bool is_added = added_ids_.contains(span.id);
    const EndSpaces spaces =
        is_added ? white_space_at_ends(utf8.substr(span.begin, span.end - span.begin))
                 : spaces_at_ends(texts_[static_cast<std::size_t>(span.id)]);
    const bool is_prefix = trims_with_prefix_ && (i == 0 || span.begin == 0) && spaces.leading == 1;
    for (std::size_t n = is_prefix ? 0 : spaces.leading; n > 0 && span.begin < span.end; --n)
      U8_FWD_1(reinterpret_cast<const std::uint8_t*>(utf8.data()), span.begin, utf8.size());
    for (std::size_t n = spaces.trailing; n > 0 && span.end > span.begin; --n) {
      auto end = static_cast<std::int32_t>(span.end);
      U8_BACK_1(reinterpret_cast<const std::uint8_t*>(utf8.data()), 0, end);
      span.end = static_cast<std::size_t>(end);
    }
  }
}

std::string SubwordTokenizer::decode(std::span<const std::int32_t> ids) const {
  check_ids(ids, vocabulary_.origin());
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string& piece = texts_[static_cast<std::size_t>(id)];
    text += piece.empty() ? token(id) : piece;
  }
  if (!is_byte_level())
    for (std::size_t at = 0; (at = text.find(kWordSign, at)) != std::string::npos;)
      text.replace(at, kWordSign.size(), " ");
  const bool has_prefix = is_byte_level()
                              ? file_.pre_tokenizer.add_prefix_space
                              : file_.pre_tokenizer.prepend != PreTokenizer::Prepend::never;
  if (has_prefix && text.starts_with(' ')) text.erase(0, 1);
  return replace_ill_formed(text);
}

std::string SubwordTokenizer::readable_token(std::int32_t id) const {
  const std::string& text = texts_[static_cast<std::size_t>(id)];
  if (!is_byte_level() || text.empty() || replace_ill_formed(text) != text) return token(id);
  return text.starts_with(' ') ? str(kWordSign, text.substr(1)) : text;
}

void SubwordTokenizer::save(const std::string& path) const {
  const std::string merges = merges_path(path);
  if (merges.empty()) return io::write_file(path, subword_json(file_));
  if (!is_byte_level() || file_.model != SubwordFile::Model::bpe)
    throw UsageError(str(path, ": only a byte-level BPE vocabulary has a vocab.json"),
                     "write a tokenizer.json");
  if (!is_plain_byte_level(file_))
    throw UsageError(
        str(path, ": a vocab.json cannot store this vocabulary's normalizer and add_prefix_space"),
        "write a tokenizer.json");
  io::write_file(path, pieces_json(file_));
  io::write_file(merges, merges_text(file_));
}

}  // namespace smelt::text
