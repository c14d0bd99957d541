#include "cli/cmd_vocab.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "text/vocabulary_job.h"

namespace smelt {
namespace {

void print_summary(const VocabularyJob& job, const VocabularySummary& s) {
  std::cout << "text:       " << s.lines << " lines, " << s.words << " words, " << s.distinct_words
            << " distinct\n"
            << "vocabulary: " << s.size << " pieces in " << s.seconds << " s\n";
  if (s.unused > 0)
    std::cout << "            " << s.unused << " of them are [unusedN]: the text has no more pieces to give\n";
  std::cout << "written:    " << job.out << "\n";
}

}  // namespace

void add_vocab_command(CLI::App& app) {
  auto* vocab = app.add_subcommand("vocab", "vocabularies")->require_subcommand(1);
  auto* command = vocab->add_subcommand("train", "a WordPiece vocabulary from text");
  auto job = std::make_shared<VocabularyJob>();
  WordPieceTrainerOptions& o = job->trainer;
  command->add_option("--input", job->input, "text files or patterns, separated by commas")
      ->required();
  command->add_option("--out", job->out, "the vocabulary to write")->required();
  command->add_option("--size", o.vocab_size, "pieces")->capture_default_str();
  command->add_option("--min-frequency", o.min_frequency, "a rarer pair is not merged")
      ->capture_default_str();
  command->add_option("--alphabet", o.alphabet_limit, "most frequent characters kept")
      ->capture_default_str();
  command->add_flag("--cased{false}", job->lower_case, "keep upper case and accents");
  command->add_flag("--strict", job->strict, "refuse text that is not UTF-8");
  command->add_flag("--overwrite", job->overwrite, "replace an existing vocabulary");
  command->callback([job] { print_summary(*job, train_vocabulary(*job)); });
}

}  // namespace smelt
