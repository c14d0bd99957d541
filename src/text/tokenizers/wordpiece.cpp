#include "text/tokenizers/wordpiece.h"

#include <algorithm>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/added_tokens.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/casing.h"
#include "text/tokenizers/mapped_text.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/text_normalizer.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/word_scanner.h"

namespace smelt::text {

// Splits each word into pieces while it is scanned.
struct BertTokenizer::IdSink {
  const WordPieceTrie& trie;
  std::vector<std::int32_t>& ids;
  const std::size_t limit;
  const std::int32_t unknown;
  WordPieceTrie::Node node = WordPieceTrie::kBegin;
  std::size_t characters = 0;
  std::size_t word_begin = ids.size();

  IdSink(const BertTokenizer& tokenizer, std::vector<std::int32_t>& to)
      : trie(tokenizer.trie_),
        ids(to),
        limit(tokenizer.options_.max_characters_per_word),
        unknown(tokenizer.unknown_) {}

  void from(std::size_t, std::size_t) {}
  void append(std::uint8_t byte) {
    node = trie.step(node, byte, ids);
    ++characters;
  }
  void append(std::string_view bytes, std::size_t count) {
    for (const char byte : bytes) node = trie.step(node, static_cast<std::uint8_t>(byte), ids);
    characters += count;
  }
  void end_word() {
    if (node == WordPieceTrie::kBegin) return;
    if (characters > limit || !trie.finish(node, ids)) {
      ids.resize(word_begin);
      ids.push_back(unknown);
    }
    node = WordPieceTrie::kBegin;
    characters = 0;
    word_begin = ids.size();
  }
};

// Records the source of every byte of a word.
struct BertTokenizer::SpanSink {
  struct Source {
    std::size_t begin, end;
  };
  const BertTokenizer& tokenizer;
  std::vector<TokenSpan> spans;
  std::string word;
  std::vector<Source> sources;
  Source now{0, 0};
  std::vector<std::int32_t> ids;

  void from(std::size_t begin, std::size_t end) { now = {begin, end}; }
  void append(std::uint8_t byte) {
    append(std::string_view(reinterpret_cast<const char*>(&byte), 1), 1);
  }
  void append(std::string_view bytes, std::size_t) {
    word.append(bytes);
    sources.resize(word.size(), now);
  }
  void end_word() {
    if (word.empty()) return;
    ids.clear();
    tokenizer.encode_word(word, ids);
    const bool whole = ids.size() == 1;  // a single piece, or [UNK]
    std::size_t begin = 0;
    for (const std::int32_t id : ids) {
      const std::size_t prefix = begin == 0 ? 0 : tokenizer.vocabulary_.continuing_prefix().size();
      const std::size_t end = whole ? word.size() : begin + tokenizer.token(id).size() - prefix;
      spans.push_back({id, sources[begin].begin, sources[end - 1].end});
      begin = end;
    }
    word.clear();
    sources.clear();
  }
};

BertTokenizer BertTokenizer::load(const std::string& path, const TokenizerFlags& flags) {
  if (is_subword_file(path)) {
    return BertTokenizer(std::make_shared<const SubwordTokenizer>(path),
                         tokenizer_options(path, flags).segment_command);
  }
  const TokenizerOptions options = tokenizer_options(path, flags);
  Vocabulary vocabulary = Vocabulary::load(path);
  if (options.lower_case && !is_tokenizer_json(path))
    warn_of_case(vocabulary, options,
                 io::exists(tokenizer_config_path(path)) ? tokenizer_config_path(path)
                                                         : flags.lower_case_name);
  return {std::move(vocabulary), options};
}

BertTokenizer::BertTokenizer(Vocabulary vocabulary, const TokenizerOptions& options)
    : vocabulary_(std::move(vocabulary)),
      options_(options),
      table_(&CharacterTable::of(options)),
      trie_(vocabulary_.pieces(), vocabulary_.continuing_prefix()),
      unknown_(vocabulary_.id("[UNK]")) {
  const auto added = std::make_shared<const AddedTokens>(options_.added, *table_, options_.nfc);
  if (!added->empty()) added_ = added;
  take_segmenter();
}

BertTokenizer::BertTokenizer(std::shared_ptr<const SubwordTokenizer> subword,
                             const std::string& segment_command)
    : vocabulary_(subword->vocabulary()),
      options_(subword->options()),
      table_(&CharacterTable::of(options_)),
      trie_({}, kContinuingPrefix),
      subword_(std::move(subword)),
      unknown_(vocabulary_.id("[UNK]")) {
  options_.segment_command = segment_command;
  take_segmenter();
}

void BertTokenizer::take_segmenter() {
  segmenter_ = Segmenter::of(options_.segment_command);
  if (!segmenter_) return;
  const auto tokens = std::make_shared<TokenFinder>();
  for (const AddedToken& token : options_.added) tokens->add(token.content, token);
  kept_whole_ = tokens;
}

bool BertTokenizer::continues_word(std::int32_t id) const {
  return subword_ ? subword_->continues_word(id) : vocabulary_.continues_word(id);
}

std::string BertTokenizer::readable_token(std::int32_t id) const {
  return subword_ ? subword_->readable_token(id) : token(id);
}

void BertTokenizer::save(const std::string& path) const {
  if (subword_) {
    if (!is_tokenizer_json(path))
      throw UsageError(str(path, ": ", vocabulary_.origin(), " holds a Unigram or BPE vocabulary, ",
                           "which a vocab.txt cannot hold"),
                       "write a tokenizer.json");
    subword_->save(path);
    return store_segment_command(path, options_.segment_command);
  }
  if (is_tokenizer_json(path)) {
    io::write_file(path, tokenizer_json(vocabulary_, options_));
    return store_options_beside(path, options_);
  }
  vocabulary_.check_fits_text(path);
  const std::string config = tokenizer_config_path(path), settings = vocab_txt_config(options_);
  io::OutputFile vocabulary(path);
  vocabulary.write(vocabulary_.text());
  vocabulary.flush();
  if (!io::exists(config) || io::read_file(config, io::kSmallFileBytes) != settings) {
    io::OutputFile other(config);
    other.write(settings);
    other.flush();
    // Removes the old vocabulary before the settings change, so that no other process reads it with
    // the settings of the new one.
    if (const auto old = io::file_status(path); old && old->size > 0)
      io::remove_file(io::canonical_path(path));
    other.commit();
  }
  vocabulary.commit();
}

void BertTokenizer::encode_word(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (subword_) return subword_->encode(word, ids);
  IdSink sink(*this, ids);
  sink.append(word, word.size() - std::ranges::count_if(word, continues_character));
  sink.end_word();
}

void BertTokenizer::encode_part(std::string_view utf8, bool is_first, bool before_mask,
                                std::vector<std::int32_t>& ids) const {
  if (!subword_) return encode(utf8, ids);
  // Hugging Face's tokenizers treat [MASK] as an added token with lstrip.
  if (before_mask) utf8 = utf8.substr(0, white_space_begin(utf8));
  if (!segmenter_ || utf8.empty()) return subword_->encode_part(utf8, is_first, ids);
  // A new word begins after [MASK], as in segmented text.
  std::string text = segmented(utf8, false).text;
  if (!is_first && !text.starts_with(' ')) text.insert(0, 1, ' ');
  subword_->encode_part(text, is_first, ids);
}

// Returns the text split into words by the segment command. Added tokens stay whole.
MappedText BertTokenizer::segmented(std::string_view utf8, bool keep_sources) const {
  segmenter_->check_allowed(vocabulary_.origin());
  MappedText text = MappedText::of(utf8, 0, keep_sources);
  if (options_.nfc) text = nfc_text(std::move(text));
  MappedText out = text.like();
  const auto put = [&](const MappedText& words, std::size_t at) {
    const bool is_apart = out.text.empty() || words.text.empty() || out.text.ends_with(' ') ||
                          words.text.starts_with(' ');
    if (!is_apart) out.append(" ", text.place_before(at));
    out.append(words, 0, words.text.size());
  };
  const auto part = [&](std::size_t from, std::size_t to) {
    MappedText bytes = text.like();
    bytes.append(text, from, to);
    return bytes;
  };
  kept_whole_->for_each(
      text.text, nullptr, [&](const AddedToken* token, std::size_t begin, std::size_t end) {
        put(token != nullptr ? part(begin, end) : segmenter_->split(part(begin, end)), begin);
      });
  return out;
}

void BertTokenizer::encode(std::string_view utf8, std::vector<std::int32_t>& ids) const {
  if (segmenter_) return encode_words(segmented(utf8, false).text, ids);
  encode_words(utf8, ids);
}

void BertTokenizer::encode_words(std::string_view utf8, std::vector<std::int32_t>& ids) const {
  if (subword_) return subword_->encode(utf8, ids);
  const auto encode_text = [&](std::string_view text) {
    IdSink sink(*this, ids);
    scan_words(*table_, text, sink);
  };
  if (!added_ && options_.nfc && !is_nfc(utf8)) return encode_text(nfc(std::string(utf8)));
  if (!added_) return encode_text(utf8);
  for (const AddedTokens::Part& part : added_->split(utf8))
    if (part.id >= 0)
      ids.push_back(part.id);
    else
      encode_text(part.text);
}

bool BertTokenizer::has_character(std::string_view character) const {
  std::vector<std::int32_t> ids;
  encode_words(character, ids);
  if (std::ranges::find(ids, unknown_) == ids.end()) return true;
  if (subword_) return false;
  std::vector<std::string> words;
  BasicTokenizer(options_).tokenize(character, words);
  const auto is_piece = [&](char32_t part) {
    std::string piece = vocabulary_.continuing_prefix();
    append_utf8(part, piece);
    return vocabulary_.find(piece).has_value();
  };
  return std::ranges::all_of(words, [&](const std::string& word) {
    return std::ranges::all_of(to_code_points(word), is_piece);
  });
}

std::vector<std::int32_t> BertTokenizer::encode(std::string_view utf8) const {
  std::vector<std::int32_t> ids;
  encode(utf8, ids);
  return ids;
}

std::vector<TokenSpan> BertTokenizer::encode_with_offsets(std::string_view utf8) const {
  if (!segmenter_) return word_spans(utf8);
  const MappedText text = segmented(utf8, true);
  std::vector<TokenSpan> spans = word_spans(text.text);
  for (TokenSpan& span : spans) {
    const MappedText::Source from =
        span.end > span.begin ? text.source(span.begin, span.end) : text.place_before(span.begin);
    span = {span.id, from.first, from.second};
  }
  return spans;
}

std::vector<TokenSpan> BertTokenizer::word_spans(std::string_view utf8) const {
  if (subword_) return subword_->encode_with_offsets(utf8);
  const auto spans_of = [&](std::string_view text) {
    SpanSink sink{.tokenizer = *this, .spans = {}, .word = {}, .sources = {}, .ids = {}};
    scan_words(*table_, text, sink);
    return std::move(sink.spans);
  };
  std::vector<TokenSpan> spans;
  const auto add_spans = [&](std::string_view text, const std::vector<MappedText::Source>& from) {
    for (const TokenSpan& span : spans_of(text))
      spans.push_back({span.id, from[span.begin].first, from[span.end - 1].second});
  };
  if (!added_) {
    if (!options_.nfc || is_nfc(utf8)) return spans_of(utf8);
    const MappedText text = nfc_text(MappedText::of(utf8, 0, true));
    add_spans(text.text, text.sources);
    return spans;
  }
  for (const AddedTokens::Part& part : added_->split(utf8))
    if (part.id >= 0)
      spans.push_back({part.id, part.sources[0].first, part.sources[0].second});
    else
      add_spans(part.text, part.sources);
  return spans;
}

std::string BertTokenizer::decode(std::span<const std::int32_t> ids) const {
  if (subword_) return subword_->decode(ids);
  check_ids(ids, vocabulary_.origin());
  const std::string& prefix = vocabulary_.continuing_prefix();
  std::string text;
  for (const std::int32_t id : ids) {
    const std::string& piece = token(id);
    const bool continues = !text.empty() && piece.starts_with(prefix);
    if (!text.empty() && !continues) text += ' ';
    text += continues ? piece.substr(prefix.size()) : piece;
  }
  return text;
}

std::vector<std::string> BertTokenizer::tokenize(std::string_view utf8) const {
  std::vector<std::string> tokens;
  for (const std::int32_t id : encode(utf8)) tokens.push_back(vocabulary_.token(id));
  return tokens;
}

}  // namespace smelt::text
