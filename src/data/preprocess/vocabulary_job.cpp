#include "data/preprocess/vocabulary_job.h"

#include <algorithm>
#include <set>

#include "base/choice.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/plural.h"
#include "data/preprocess/example_files.h"
#include "data/preprocess/merged_words.h"
#include "data/preprocess/subword_vocabulary.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "text/tokenizers/sentencepiece_trainer.h"
#include "text/tokenizers/subword_file.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

constexpr NamedValues<VocabularyType, 5> kTypes{{{"wordpiece", VocabularyType::wordpiece},
                                                 {"unigram", VocabularyType::unigram},
                                                 {"bpe", VocabularyType::bpe},
                                                 {"byte_bpe", VocabularyType::byte_bpe},
                                                 {"auto", VocabularyType::choose}}};

bool is_model(const std::string& path) { return path.ends_with(".model"); }

std::string config_beside(const VocabularyJob& job) {
  return io::join_path(io::parent_path(job.out), "tokenizer_config.json");
}

// Returns all files to write.
std::vector<std::string> output_files(const VocabularyJob& job) {
  if (is_model(job.out)) return {job.out};
  if (!text::is_tokenizer_json(job.out)) return {job.out, text::tokenizer_config_path(job.out)};
  if (job.type == VocabularyType::byte_bpe && !text::merges_path(job.out).empty())
    return {job.out, text::merges_path(job.out)};
  if (io::path_name(job.out) == "tokenizer.json") return {job.out, config_beside(job)};
  return {job.out};
}

// Throws UsageError for settings that this type of output does not support.
void check_normalization(const VocabularyJob& job) {
  const bool changes_case = job.tokenizer.lower_case || job.tokenizer.strips_accents();
  if (is_model(job.out) && changes_case)
    throw UsageError(str("vocab: --out ", job.out, " is a SentencePiece model, which cannot ",
                         job.tokenizer.lower_case ? "lower-case text (--lower-case true, "
                                                    "vocab.lower_case)"
                                                  : "strip accents (--strip-accents true, "
                                                    "vocab.strip_accents)"),
                     "leave the option out, or change the text before training");
  if (is_model(job.out)) return;
  if (job.normalization != "auto")
    throw UsageError(str("vocab: --normalization ", job.normalization,
                         " (vocab.normalization) needs a SentencePiece model, but --out ", job.out,
                         " does not end in .model"),
                     "leave out --normalization, or name an output such as x.model");
  if (job.byte_fallback)
    throw UsageError(
        str("vocab: --byte-fallback (vocab.byte_fallback) needs a SentencePiece model, but --out ",
            job.out, " does not end in .model"),
        "leave out --byte-fallback, name an output such as x.model, or use --type byte_bpe, which "
        "has no unknown characters");
  if (job.out.ends_with("vocab.json") && changes_case)
    throw UsageError(str("vocab: --out ", job.out,
                         " cannot store that text is lower-cased or accents are stripped"),
                     "name a tokenizer.json, or use --cased");
}

void check(const VocabularyJob& job) {
  const bool by_library = job.type == VocabularyType::unigram || job.type == VocabularyType::bpe;
  if (is_model(job.out) && !by_library)
    throw UsageError(
        str("vocab: --out ", job.out, " is a SentencePiece model, which cannot have the type ",
            word_of(job.type, kTypes)),
        "use --type unigram or bpe, or name a .txt file or a tokenizer.json");
  if (job.type == VocabularyType::byte_bpe && !text::is_tokenizer_json(job.out))
    throw UsageError(str("vocab: --out ", job.out, " cannot hold a vocabulary of type byte_bpe"),
                     "name a tokenizer.json, or a vocab.json, next to which merges.txt is written");
  check_normalization(job);
  if (job.unused < 0 || job.threads < 0)
    throw UsageError(
        str("vocab: --unused ", job.unused, " or --threads ", job.threads, " is less than 0"),
        "leave them out for the defaults");
  io::check_apart(output_files(job), io::expand_patterns(job.text.input, "--input"));
  for (const std::string& path : output_files(job))
    if (!job.overwrite && io::exists(path))
      throw UsageError(str("--out: ", path, " exists"), "choose another name or give --overwrite");
}

// Returns whether all input can be read twice, which is not possible for a pipe.
bool is_rereadable(const text::LinesOptions& text) {
  return std::ranges::none_of(io::expand_patterns(text.input, "--input"), is_device);
}

text::WordPieceTrainerOptions with_unused(const VocabularyJob& job) {
  text::WordPieceTrainerOptions options = job.trainer;
  options.coverage = job.coverage;
  options.tokenizer = job.tokenizer;
  for (std::int64_t i = 0; i < job.unused; ++i) options.reserved.push_back(str("[unused", i, "]"));
  return options;
}

std::vector<std::string> train_wordpieces(const VocabularyJob& job, text::SampledLines& lines,
                                          VocabularySummary& summary) {
  const int threads = job.threads > 0 ? static_cast<int>(job.threads) : available_threads();
  text::LongWords long_words;
  const text::WordCounts counts = text::count_words(
      lines, text::bert_words(job.tokenizer, &long_words), threads, job.text.memory);
  const std::size_t limit = job.tokenizer.max_characters_per_word;
  if (counts.empty() && long_words.count() > 0)
    throw UsageError(
        str("--input: ", job.text.input, ": each of its ", counted(long_words.count(), "word"),
            " has more than ", limit, " characters"),
        "use --type unigram (vocab.type=unigram) for text without spaces between "
        "words");
  long_words.warn(limit);
  if (counts.empty())
    throw UsageError(str("--input: ", job.text.input, " holds no words"), "give files with text");
  for (const auto& [word, count] : counts) summary.words += count;
  summary.distinct_words = std::ssize(counts);
  return text::train_wordpiece(counts, with_unused(job));
}

// Trains a SentencePiece model on the words of the BasicTokenizer, as is usual for BERT, and
// returns its pieces.
std::vector<std::string> train_by_sentencepiece(const VocabularyJob& job,
                                                text::SampledLines& lines) {
  std::vector<std::string> tokens = text::first_tokens(with_unused(job).reserved);
  const text::WordSplitter split = text::bert_words(job.tokenizer);
  std::string line;
  const text::NextText next = [&](std::string& text) {
    if (!lines.next(line)) return false;
    text.clear();
    split(line, [&](std::string_view word) { (text += text.empty() ? "" : " ") += word; });
    return true;
  };
  const std::int64_t room = job.trainer.vocab_size - std::ssize(tokens);
  const std::string model =
      text::train_sentencepiece(next, {.type = std::string(word_of(job.type, kTypes)),
                                       .size = room + 1,
                                       .coverage = job.coverage,
                                       .kind = text::SentencePieceOptions::Kind::for_wordpiece});
  const std::set<std::string> special(tokens.begin(), tokens.end());
  for (std::string& piece : text::as_wordpieces(model, room))
    if (!special.contains(piece)) tokens.push_back(std::move(piece));
  text::fill_with_unused(tokens, job.trainer.vocab_size);
  return tokens;
}

// Returns the normalization rule. "auto" reads the text first; for a pipe, which can be read only
// once, it is nmt_nfkc.
text::SentencePieceOptions::Rule rule_of(const VocabularyJob& job) {
  if (job.normalization == "auto" && !is_rereadable(job.text))
    return text::SentencePieceOptions::Rule::nmt_nfkc;
  return choose_rule(job.normalization, job.text);
}

void train_model(const VocabularyJob& job, text::SampledLines& lines, VocabularySummary& summary) {
  const std::string model =
      text::train_sentencepiece([&](std::string& text) { return lines.next(text); },
                                {.type = std::string(word_of(job.type, kTypes)),
                                 .size = job.trainer.vocab_size,
                                 .coverage = job.coverage,
                                 .rule = rule_of(job),
                                 .byte_fallback = job.byte_fallback,
                                 .special = job.trainer.reserved});
  io::write_file(job.out, model);
  text::store_segment_command(job.out, job.tokenizer.segment_command);
  summary.size = job.trainer.vocab_size;
}

void take_size(const text::Vocabulary& vocabulary, VocabularySummary& summary) {
  summary.size = vocabulary.size();
  summary.unused = std::ranges::count_if(
      vocabulary.tokens(), [](const std::string& token) { return token.starts_with("[unused"); });
}

// Writes the tokenizer_config.json for a tokenizer.json. It stores the handling of control
// characters and the transformers class, for which tokenizer.json has no fields.
void save_config_beside(const VocabularyJob& job, Json config) {
  if (io::path_name(job.out) != "tokenizer.json")
    return text::store_segment_command(job.out, job.tokenizer.segment_command);
  if (!job.tokenizer.segment_command.empty())
    config["segment_command"] = job.tokenizer.segment_command;
  for (const auto& [role, token] : text::kSpecialTokenRoles) config[role] = token;
  io::write_file(config_beside(job), config.dump(2) + "\n");
}

}  // namespace

VocabularyType parse_vocabulary_type(std::string_view word) {
  return choose_of("vocab: --type", word, kTypes);
}

// Returns the job for text that the tokenizer's command splits into words, if it has one.
static VocabularyJob with_segment_command(VocabularyJob job) {
  job.text.segment_command = job.tokenizer.segment_command;
  if (!job.tokenizer.segment_command.empty()) job.tokenizer.split_chinese = false;
  return job;
}

// Logs what normalization changes. This does not depend on words, so the segment command is not
// used.
static void log_normalization(const VocabularyJob& job) {
  if (is_model(job.out) || !is_rereadable(job.text)) return;
  text::LinesOptions text = job.text;
  text.segment_command.clear();
  log_normalization(text, job.tokenizer);
}

VocabularySummary train_vocabulary(const VocabularyJob& given) {
  VocabularyJob job = with_segment_command(given);
  check(job);
  const bool is_chosen = job.type == VocabularyType::choose;
  if (is_chosen) {
    if (!is_rereadable(job.text))
      throw UsageError(str("vocab: --type auto reads the text twice, but --input ", job.text.input,
                           " can be read only once"),
                       "name the type, such as --type wordpiece, or store the text in a file");
    job.type = choose_vocabulary_type(job.text);
    check(job);
  }
  const auto start = Clock::now();
  log_normalization(job);
  if (!is_chosen && job.type == VocabularyType::wordpiece && is_rereadable(job.text))
    warn_of_unseparated_words(job.text);
  VocabularySummary summary;
  text::SampledLines lines(job.text);
  if (is_model(job.out)) {
    train_model(job, lines, summary);
  } else if (job.type != VocabularyType::wordpiece && text::is_tokenizer_json(job.out)) {
    const text::SubwordTokenizer tokenizer(train_subword_vocabulary(job, lines, summary), job.out);
    tokenizer.save(job.out);
    save_config_beside(job, text::subword_config_json(tokenizer.file()));
    take_size(tokenizer.vocabulary(), summary);
  } else {
    const text::BertTokenizer tokenizer(text::Vocabulary(job.type == VocabularyType::wordpiece
                                                             ? train_wordpieces(job, lines, summary)
                                                             : train_by_sentencepiece(job, lines),
                                                         job.out),
                                        job.tokenizer);
    tokenizer.save(job.out);
    save_config_beside(job, text::tokenizer_config_json(job.tokenizer));
    take_size(tokenizer.vocabulary(), summary);
  }
  summary.text = lines.summary();
  summary.seconds = seconds_since(start);
  return summary;
}

}  // namespace smelt::data
