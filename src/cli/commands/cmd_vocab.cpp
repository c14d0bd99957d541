#include <CLI/CLI.hpp>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>

#include "base/closed_pipe.h"
#include "base/json.h"
#include "base/number_format.h"
#include "base/parallel.h"
#include "base/plural.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/options/json_output.h"
#include "cli/options/text_flags.h"
#include "data/preprocess/vocabulary_extend.h"
#include "data/preprocess/vocabulary_job.h"
#include "data/preprocess/vocabulary_report.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/tokenizer_json.h"

namespace smelt::cli {
namespace {

void add_lines_options(CLI::App& command, text::LinesOptions& o) {
  add_input_flags(command, o.input, o.format, o.limits);
  command.add_option("--sample", o.sample, "share of the lines to read, evenly spaced")
      ->capture_default_str();
  command
      .add_option("--memory", o.memory,
                  "approximate memory limit for words; if they need more, the rarest are dropped; "
                  "types unigram "
                  "and bpe load all text that --sample selects")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("4GB");
}

// Names of what `vocab train` counts: punctuation marks are separate, unlike in `vocab report`.
constexpr const char *kWord = "word or punctuation mark", *kWords = "words and punctuation marks";

void print_trained(const data::VocabularyJob& job, const data::VocabularySummary& s) {
  std::cout << "text:       " << counted(s.text.lines, "line");
  if (s.words > 0)
    std::cout << ", " << counted(s.words, kWord, kWords) << ", " << s.distinct_words << " distinct";
  std::cout << "\nvocabulary: " << s.size << " pieces in " << s.seconds << " s\n";
  if (s.unused > job.unused)
    std::cout << "            " << s.unused - job.unused
              << " of them are [unusedN]: the text does not have enough pieces\n";
  std::cout << "written:    " << job.out;
  if (!job.out.ends_with(".model") && !text::is_tokenizer_json(job.out))
    std::cout << ", " << text::tokenizer_config_path(job.out);
  std::cout << "\n";
}

OrderedJson trained_json(const data::VocabularyJob& job, const data::VocabularySummary& s) {
  return {{"path", job.out},       {"size", s.size},   {"unused", s.unused},
          {"lines", s.text.lines}, {"words", s.words}, {"distinct_words", s.distinct_words},
          {"seconds", s.seconds}};
}

void run_train(const data::VocabularyJob& job, bool json) {
  outlive_output_reader();
  print_result(json, [&] {
    const data::VocabularySummary made = data::train_vocabulary(job);
    print_trained(job, made);
    return trained_json(job, made);
  });
}

void add_trainer_options(CLI::App& command, data::VocabularyJob& job) {
  text::WordPieceTrainerOptions& o = job.trainer;
  command.add_option("--size", o.vocab_size, "number of pieces")->capture_default_str();
  command
      .add_option("--min-frequency", o.min_frequency,
                  "wordpiece, byte_bpe: minimum frequency of a pair to be merged")
      ->capture_default_str();
  command
      .add_option("--alphabet", o.alphabet_limit,
                  "wordpiece: maximum number of distinct characters; 0: no limit")
      ->capture_default_str();
  command
      .add_option("--coverage", job.coverage,
                  "share of the text's characters to keep; wordpiece applies it only if the "
                  "characters would take more than a third of the pieces, as in Chinese")
      ->capture_default_str();
  command
      .add_option(
          "--normalization", job.normalization,
          "for x.model only: normalization: nmt_nfkc (as T5), nfkc, nfc, identity; auto: nfc for "
          "Chinese, "
          "Japanese, "
          "Thai and other text without spaces between words (it keeps their punctuation), else "
          "nmt_nfkc")
      ->capture_default_str();
  command.add_flag("--byte-fallback", job.byte_fallback,
                   "for x.model only: encode unknown characters as byte pieces instead of <unk>; "
                   "uses 256 pieces");
  command
      .add_option(
          "--special", o.reserved,
          "additional special tokens, separated by commas; they follow [MASK], or <pad>, </s> and "
          "<unk> in an x.model; a list with <unk> is the full list of control pieces from id 0")
      ->delimiter(',');
  command.add_option("--unused", job.unused, "number of [unusedN] after the special tokens")
      ->capture_default_str();
}

void add_train(CLI::App& vocab) {
  auto* command = vocab.add_subcommand("train", "train a vocabulary (tokenizer) on text");
  auto job = std::make_shared<data::VocabularyJob>();
  auto flags = std::make_shared<text::TokenizerFlags>();
  add_lines_options(*command, job->text);
  command
      ->add_option(
          "--out", job->out,
          "file to write: vocab.txt for wordpiece, tokenizer.json for any type, x.model for a "
          "SentencePiece model, vocab.json (with merges.txt) for byte_bpe")
      ->required();
  command
      ->add_option_function<std::string>(
          "--type",
          [job](const std::string& word) { job->type = data::parse_vocabulary_type(word); },
          "type of vocabulary: wordpiece; unigram or bpe (SentencePiece); byte_bpe (byte-level "
          "BPE); auto: bpe for Chinese and Japanese, unigram for other scripts without spaces "
          "between words, else wordpiece")
      ->default_str("wordpiece");
  add_trainer_options(*command, *job);
  command->add_option("--threads", job->threads, "number of threads; 0: all cores")
      ->capture_default_str();
  add_tokenizer_flags(*command, *flags);
  auto language = std::make_shared<std::string>();
  command->add_option("--language", *language,
                      "with --lower-case: a language tag; tr and az lower-case I to ı and İ to i; "
                      "--lower-case, --strip-accents and --language are not for SentencePiece "
                      "models (x.model)");
  auto split_chinese = std::make_shared<bool>(true);
  command
      ->add_option(
          "--split-chinese", *split_chinese,
          "wordpiece: true: each Chinese character is a word; false: spaces separate words")
      ->default_str("true");
  command->add_flag("--overwrite", job->overwrite, "replace an existing vocabulary");
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([job, flags, language, split_chinese, json] {
    job->tokenizer = text::new_vocabulary_options(*flags, *language, "--language");
    job->tokenizer.split_chinese = *split_chinese;
    run_train(*job, *json);
  });
}

void print_extended(const data::ExtendJob& job, const data::ExtendSummary& s) {
  std::cout << "added:   " << counted(s.added.size(), "word") << " in "
            << counted(s.unused, "unused token") << ":";
  for (std::size_t i = 0; i < s.added.size() && i < 10; ++i) std::cout << ' ' << s.added[i].first;
  std::cout << (s.added.size() > 10 ? " …" : "") << "\npieces:  " << s.pieces_before << " -> "
            << s.pieces_after << " (" << percent(1 - share(s.pieces_after, s.pieces_before))
            << " fewer)\nunknown: " << s.unknown_before << " -> " << s.unknown_after
            << " words\nwritten: " << job.out;
  if (!text::is_tokenizer_json(job.out)) std::cout << ", " << text::tokenizer_config_path(job.out);
  std::cout << "\n";
}

OrderedJson extended_json(const data::ExtendJob& job, const data::ExtendSummary& s) {
  OrderedJson out{{"path", job.out},
                  {"unused_before", s.unused},
                  {"added", OrderedJson::array()},
                  {"pieces_before", s.pieces_before},
                  {"pieces_after", s.pieces_after},
                  {"unknown_before", s.unknown_before},
                  {"unknown_after", s.unknown_after}};
  for (const auto& [word, saved] : s.added)
    out["added"].push_back({{"word", word}, {"pieces_saved", saved}});
  return out;
}

void add_extend(CLI::App& vocab) {
  auto* command =
      vocab.add_subcommand("extend", "add domain words to a vocabulary in place of [unusedN]");
  auto job = std::make_shared<data::ExtendJob>();
  add_lines_options(*command, job->text);
  command->add_option("--vocab", job->vocab, "vocabulary to extend: vocab.txt or tokenizer.json")
      ->required();
  command->add_option("--out", job->out, "the vocabulary to write")->required();
  command->add_option("--count", job->count, "number of words to add; 0: one for each [unusedN]")
      ->capture_default_str();
  command
      ->add_option("--min-frequency", job->min_frequency, "minimum frequency of a word to be added")
      ->capture_default_str();
  command->add_option("--threads", job->threads, "number of threads; 0: all cores")
      ->capture_default_str();
  add_tokenizer_flags(*command, job->tokenizer);
  command->add_flag("--overwrite", job->overwrite, "replace an existing vocabulary");
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([job, json] {
    outlive_output_reader();
    print_result(*json, [&] {
      const data::ExtendSummary made = data::extend_vocabulary(*job);
      print_extended(*job, made);
      return extended_json(*job, made);
    });
  });
}

OrderedJson as_json(const data::VocabularyReport& r) {
  OrderedJson out{{"vocabulary", r.vocabulary},
                  {"size", r.size},
                  {"used", r.used},
                  {"words", r.words},
                  {"pieces", r.pieces},
                  {"pieces_per_word", share(r.pieces, r.words)},
                  {"whole_words", share(r.whole_words, r.words)},
                  {"unknown", share(r.unknown, r.pieces)}};
  for (const text::ScriptCount& s : r.scripts)
    out["scripts"][s.script] = {{"characters", s.characters},
                                {"pieces", s.pieces},
                                {"unknown", share(s.unknown, s.pieces)}};
  return out;
}

using Value = std::function<std::string(const data::VocabularyReport&)>;

void print_row(const std::string& name, const std::vector<data::VocabularyReport>& reports,
               const Value& value) {
  std::cout << std::left << std::setw(26) << name << std::right;
  for (const data::VocabularyReport& r : reports) std::cout << std::setw(16) << value(r);
  std::cout << "\n";
}

std::string unknown_in(const data::VocabularyReport& r, const std::string& script) {
  for (const text::ScriptCount& s : r.scripts)
    if (s.script == script) return rounded(100 * share(s.unknown, s.pieces), 3);
  return "-";
}

void print_reports(const std::vector<data::VocabularyReport>& reports) {
  for (std::size_t i = 0; i < reports.size(); ++i)
    std::cout << static_cast<char>('A' + i) << ": " << reports[i].vocabulary << "\n";
  char letter = 'A';
  print_row("", reports, [&](const auto&) { return std::string(1, letter++); });
  print_row("size", reports, [](const auto& r) { return str(r.size); });
  print_row("pieces used by the text", reports, [](const auto& r) { return str(r.used); });
  print_row("words between spaces", reports, [](const auto& r) { return str(r.words); });
  print_row("pieces", reports, [](const auto& r) { return str(r.pieces); });
  print_row("pieces per word", reports,
            [](const auto& r) { return rounded(share(r.pieces, r.words), 3); });
  print_row("whole words, %", reports,
            [](const auto& r) { return rounded(100 * share(r.whole_words, r.words), 2); });
  print_row("unknown pieces, %", reports,
            [](const auto& r) { return rounded(100 * share(r.unknown, r.pieces), 3); });
  for (const text::ScriptCount& s : reports.front().scripts)
    print_row("  in " + s.script, reports, [&](const auto& r) { return unknown_in(r, s.script); });
}

// Throws UsageError if the two vocabularies split text into words by different commands, since
// their words would differ.
void require_same_command(const std::string& vocab, const std::string& against,
                          const text::TokenizerFlags& flags) {
  if (against.empty()) return;
  const std::string one = text::segment_command_of(vocab, flags),
                    other = text::segment_command_of(against, flags);
  const auto named = [](const std::string& command) {
    return command.empty() ? "nothing" : str("'", command, "'");
  };
  if (one != other)
    throw UsageError(str("vocab report: text for ", vocab, " is split into words by ", named(one),
                         ", for ", against, " by ", named(other)),
                     str("use text that is already split into words and --segment-command ",
                         text::kNoSegmentCommand, "; or report one at a time"));
}

void add_report(CLI::App& vocab) {
  struct Options {
    text::LinesOptions text;
    std::string vocab, against;
    text::TokenizerFlags tokenizer;
    int threads = 0;
    bool json = false;
  };
  auto* command = vocab.add_subcommand("report", "show how well vocabularies fit a text");
  auto o = std::make_shared<Options>();
  add_lines_options(*command, o->text);
  command->add_option("--vocab", o->vocab, "vocabulary: vocab.txt, tokenizer.json or x.model")
      ->required();
  command->add_option("--against", o->against, "another vocabulary to compare with");
  command->add_option("--threads", o->threads, "number of threads; 0: all cores")
      ->capture_default_str();
  add_tokenizer_flags(*command, o->tokenizer);
  command->add_flag("--json", o->json, "print JSON");
  command->callback([o] {
    o->text.segment_command = text::segment_command_of(o->vocab, o->tokenizer);
    require_same_command(o->vocab, o->against, o->tokenizer);
    o->tokenizer.segment_command = text::kNoSegmentCommand;  // the words are then already separated
    const text::WordCounts words =
        data::words_of_report(o->text, o->threads > 0 ? o->threads : available_threads());
    std::vector<data::VocabularyReport> reports;
    for (const std::string& path : {o->vocab, o->against})
      if (!path.empty())
        reports.push_back(
            data::report_vocabulary(path, *text::load_tokenizer(path, o->tokenizer), words));
    if (!o->json) return print_reports(reports);
    auto out = OrderedJson::array();
    for (const data::VocabularyReport& report : reports) out.push_back(as_json(report));
    std::cout << out.dump(2) << "\n";
  });
}

}  // namespace

void add_vocab_command(CLI::App& app) {
  auto* vocab = app.add_subcommand("vocab", "train, extend and compare vocabularies (tokenizers)")
                    ->require_subcommand(1);
  add_train(*vocab);
  add_extend(*vocab);
  add_report(*vocab);
}

}  // namespace smelt::cli
