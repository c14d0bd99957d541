#include "data/preprocess/subword_vocabulary.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/choice.h"
#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/parallel.h"
#include "io/filesystem/path.h"
#include "text/tokenizers/bpe_trainer.h"
#include "text/tokenizers/byte_level.h"
#include "text/tokenizers/script_counts.h"
#include "text/tokenizers/sentencepiece_trainer.h"
#include "text/tokenizers/text_normalizer.h"

namespace smelt::data {
namespace {

constexpr double kManyWithoutSpaces = 0.2;  // minimum share of letters of scripts without spaces
// U+200B separates words if there are at most this many letters on average between two of them, and
// phrases if there are more.
constexpr std::uint64_t kMostLettersOfWord = 20;

text::SubwordKind kind_of(VocabularyType type) {
  CHECK(type != VocabularyType::wordpiece && type != VocabularyType::choose, "not a subword type");
  return type == VocabularyType::unigram ? text::SubwordKind::unigram
         : type == VocabularyType::bpe   ? text::SubwordKind::bpe
                                         : text::SubwordKind::byte_bpe;
}

std::vector<std::string> first_pieces(const VocabularyJob& job) {
  std::vector<std::string> reserved = job.trainer.reserved;
  for (std::int64_t i = 0; i < job.unused; ++i) reserved.push_back(str("[unused", i, "]"));
  return text::first_tokens(reserved);
}

// Adds the merges that produce the pieces from id `first` on, in the order of the pieces: one merge
// for each way to split a piece into two other pieces.
void add_merges(std::size_t first, text::SubwordFile& file) {
  std::unordered_map<std::string_view, std::int32_t> ids;
  for (std::size_t id = first; id < file.pieces.size(); ++id)
    ids.emplace(file.pieces[id], static_cast<std::int32_t>(id));
  for (std::size_t id = first; id < file.pieces.size(); ++id) {
    const std::string_view piece = file.pieces[id];
    for (std::size_t cut = 1; cut < piece.size(); ++cut) {
      const auto left = ids.find(piece.substr(0, cut)), right = ids.find(piece.substr(cut));
      if (left != ids.end() && right != ids.end())
        file.merges.emplace_back(left->second, right->second);
    }
  }
}

// Trains with the SentencePiece library on normalized text.
text::SubwordFile train_by_library(const VocabularyJob& job, text::SampledLines& lines) {
  const text::SubwordKind kind = kind_of(job.type);
  const text::TextNormalizer normalizer(text::own_normalizer(kind, job.tokenizer));
  std::vector<std::string> pieces = first_pieces(job);
  std::vector<double> scores(pieces.size(), 0.0);
  const std::int64_t room = job.trainer.vocab_size - std::ssize(pieces);
  std::string line;
  const text::NextText next = [&](std::string& text) {
    if (!lines.next(line)) return false;
    text = normalizer.apply(text::MappedText::of(line, 0, false)).text;
    return true;
  };
  const std::string model = text::train_sentencepiece(
      next, {.type = kind == text::SubwordKind::unigram ? "unigram" : "bpe",
             .size = room + 1,
             .coverage = job.coverage,
             .kind = text::SentencePieceOptions::Kind::for_wordpiece});
  const std::set<std::string> special(pieces.begin(), pieces.end());
  const std::size_t first = pieces.size();
  for (auto& [piece, score] : text::scored_pieces(model)) {
    if (special.contains(piece) || std::ssize(pieces) >= job.trainer.vocab_size) continue;
    pieces.push_back(std::move(piece));
    scores.push_back(score);
  }
  const std::size_t end = pieces.size();
  text::fill_with_unused(pieces, job.trainer.vocab_size);
  scores.resize(pieces.size(), 0.0);
  text::SubwordFile file = text::own_subword_file(kind, std::move(pieces), job.tokenizer);
  if (kind == text::SubwordKind::unigram)
    file.scores = std::move(scores);
  else
    add_merges(first, file);
  CHECK(end <= file.pieces.size(), end);
  return file;
}

// Returns whether the output is a vocab.json, which stores no normalizer and no space before a
// text.
bool is_plain(const VocabularyJob& job) { return !text::merges_path(job.out).empty(); }

void emit_byte_level_words(std::string_view text, const text::EmitWord& emit) {
  // Longer words are skipped: a hex dump may be a word of millions of characters, which would slow
  // down every merge.
  constexpr std::size_t kLongestWord = 4096;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text::byte_level_word_end(text, begin);
    if (end - begin <= kLongestWord) emit(text.substr(begin, end - begin));
    begin = end;
  }
}

// Returns a word splitter that splits each line in the same way as the tokenizer splits a text.
text::WordSplitter byte_level_words(const VocabularyJob& job) {
  const auto normalizer = std::make_shared<const text::TextNormalizer>(
      text::own_normalizer(text::SubwordKind::byte_bpe, job.tokenizer));
  return [normalizer, plain = is_plain(job)](std::string_view lines, const text::EmitWord& emit) {
    for (const std::string_view line : split(lines, '\n')) {
      if (plain) {
        emit_byte_level_words(line, emit);
        continue;
      }
      const std::string text = normalizer->apply(text::MappedText::of(line, 0, false)).text;
      if (!text.empty()) emit_byte_level_words(text.starts_with(' ') ? text : " " + text, emit);
    }
  };
}

text::SubwordFile train_bytes(const VocabularyJob& job, text::SampledLines& lines,
                              VocabularySummary& summary) {
  const int threads = job.threads > 0 ? static_cast<int>(job.threads) : available_threads();
  const text::WordCounts counts =
      text::count_words(lines, byte_level_words(job), threads, job.text.memory);
  if (counts.empty())
    throw UsageError(str("--input: ", job.text.input, " holds no words"), "give files with text");
  for (const auto& [word, count] : counts) summary.words += count;
  summary.distinct_words = std::ssize(counts);
  const std::vector<std::string> first = first_pieces(job);
  text::TrainedBpe trained = text::train_byte_bpe(
      counts, first,
      {.vocab_size = job.trainer.vocab_size, .min_frequency = job.trainer.min_frequency});
  for (std::size_t id = first.size(); id < trained.pieces.size(); ++id)
    trained.pieces[id] = text::to_byte_characters(trained.pieces[id]);
  text::fill_with_unused(trained.pieces, job.trainer.vocab_size);
  text::SubwordFile file =
      text::own_subword_file(text::SubwordKind::byte_bpe, std::move(trained.pieces), job.tokenizer);
  file.merges = std::move(trained.merges);
  if (is_plain(job)) text::make_plain_byte_level(file);
  return file;
}

}  // namespace

text::SubwordFile train_subword_vocabulary(const VocabularyJob& job, text::SampledLines& lines,
                                           VocabularySummary& summary) {
  return job.type == VocabularyType::byte_bpe ? train_bytes(job, lines, summary)
                                              : train_by_library(job, lines);
}

static text::LetterCounts letter_counts(const text::LinesOptions& text) {
  constexpr std::uint64_t kEnoughBytes = std::uint64_t{64} << 20;
  text::LinesOptions as_written = text;
  as_written.segment_command.clear();
  text::SampledLines lines(as_written);
  text::LetterCounts counts;
  std::string line;
  while (lines.bytes_read() < kEnoughBytes && lines.next(line)) text::count_letters(line, counts);
  return counts;
}

// Returns whether U+200B separates the words of scripts without spaces.
static bool has_zero_width_spaces(const text::LetterCounts& counts) {
  return counts.zero_width_spaces * kMostLettersOfWord >= counts.without_spaces;
}

void warn_of_unseparated_words(const text::LinesOptions& text) {
  if (!text.segment_command.empty()) return;
  const text::LetterCounts counts = letter_counts(text);
  const double part = share(counts.without_spaces, counts.letters);
  if (part < kManyWithoutSpaces || has_zero_width_spaces(counts)) return;
  log_warning(
      "vocab: {} of the text's letters are of scripts without spaces between words, for which word "
      "pieces are single characters or whole phrases\n"
      "  hint: use vocab.type=auto (--type auto)",
      percent(part));
}

VocabularyType choose_vocabulary_type(const text::LinesOptions& text) {
  if (!text.segment_command.empty()) {
    log_info("vocab: type wordpiece, because '{}' separates the words", text.segment_command);
    return VocabularyType::wordpiece;
  }
  const text::LetterCounts counts = letter_counts(text);
  const double part = share(counts.without_spaces, counts.letters);
  if (part >= kManyWithoutSpaces && has_zero_width_spaces(counts)) {
    log_info("vocab: type wordpiece, because U+200B (zero-width space) separates the words");
    return VocabularyType::wordpiece;
  }
  if (part < kManyWithoutSpaces) {
    log_info(
        "vocab: type wordpiece, because only {} of the text's letters are of scripts without "
        "spaces between words",
        percent(part));
    return VocabularyType::wordpiece;
  }
  // Measured by bench/languages.py: bpe is better than unigram for Chinese and Japanese, and worse
  // for Thai (docs/explanation/performance-history.md).
  const bool is_han = 2 * counts.han_and_kana >= counts.without_spaces;
  log_info(
      "vocab: type {}, because {} of the text's letters are of {} without spaces between words",
      is_han ? "bpe" : "unigram", percent(part),
      is_han ? "Chinese or Japanese scripts" : "scripts");
  return is_han ? VocabularyType::bpe : VocabularyType::unigram;
}

text::SentencePieceOptions::Rule choose_rule(const std::string& word,
                                             const text::LinesOptions& text) {
  if (word != "auto") return choose_of("vocab: --normalization", word, text::kSentencePieceRules);
  const text::LetterCounts counts = letter_counts(text);
  const double part = share(counts.without_spaces, counts.letters);
  if (part < kManyWithoutSpaces) return text::SentencePieceOptions::Rule::nmt_nfkc;
  log_info(
      "vocab: normalization nfc, because {} of the text's letters are of scripts without spaces "
      "between words; nmt_nfkc, T5's, would replace their punctuation",
      percent(part));
  return text::SentencePieceOptions::Rule::nfc;
}

}  // namespace smelt::data
