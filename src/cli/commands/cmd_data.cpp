#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/number_format.h"
#include "base/str.h"
#include "cli/commands/cmd_tokens.h"
#include "cli/commands/commands.h"
#include "cli/options/json_output.h"
#include "cli/options/text_flags.h"
#include "data/preprocess/bert_examples.h"
#include "data/preprocess/electra_examples.h"

namespace smelt::cli {
namespace {

void print_summary(const data::BertExamplesJob& job, const data::BuildSummary& summary) {
  print_text_counts(summary.text);
  std::cout << "examples: " << summary.examples << ", of " << job.pairs.seq_length << " tokens, "
            << rounded(share(summary.masked_tokens, summary.examples), 1) << " masked on average\n"
            << "written:  " << job.output << "\n";
}

void print_summary(const data::ElectraExamplesJob& job, const data::ExampleSummary& summary) {
  print_text_counts(summary.text);
  const std::int64_t length = job.options.seq_length;
  const double filled = share(summary.counts[0], summary.examples) / static_cast<double>(length);
  std::cout << "examples: " << summary.examples << ", of " << length << " tokens, "
            << percent(1 - filled) << " padding\n"
            << "written:  " << job.output;
  if (job.shards > 1) std::cout << ", in " << job.shards << " files";
  std::cout << "\n";
}

OrderedJson examples_json(const data::ExampleJob& job, const data::CorpusCounts& text,
                          std::uint64_t examples, std::int64_t seq_length) {
  return {{"path", job.output},
          {"examples", examples},
          {"seq_length", seq_length},
          {"text", data::named_counts(text)}};
}

void add_pair_options(CLI::App& command, data::PairOptions& o) {
  command.add_option("--seq-length", o.seq_length, "tokens per example")->capture_default_str();
  command
      .add_option("--max-predictions", o.max_predictions,
                  "maximum number of masked tokens per example")
      ->capture_default_str();
  command
      .add_option("--dupe-factor", o.dupe_factor,
                  "number of passes over the text, each with different masks")
      ->capture_default_str();
  command.add_option("--masked-lm-prob", o.masked_lm_prob, "share of the tokens to mask")
      ->capture_default_str();
  command
      .add_option(
          "--short-seq-prob", o.short_seq_prob,
          "share of documents split into shorter examples; with --no-next-sentence share of "
          "the examples that are shorter")
      ->capture_default_str();
  command.add_flag("--whole-word-mask", o.whole_word_mask, "mask all pieces of a word or none");
  command.add_flag("--no-next-sentence{false}", o.next_sentence,
                   "make examples of continuous text instead of sentence pairs");
}

// Adds the flags that all commands for training examples share.
void add_job_options(CLI::App& command, data::ExampleJob& job, data::ExampleOrder& order) {
  add_document_flags(command, job.text);
  command.add_option("--vocab", job.vocab, "vocab.txt or tokenizer.json")->required();
  command.add_option("--out", job.output, "TFRecord files, separated by commas")->required();
  command
      .add_option_function<std::string>(
          "--order", [&order](const std::string& word) { order = data::parse_example_order(word); },
          "order of the examples: shuffled (parallel, bounded memory) or original (byte-identical "
          "to the original program)")
      ->default_str("shuffled");
  command.add_option("--threads", job.threads, "number of threads; 0: all cores")
      ->capture_default_str();
  command.add_option("--memory", job.memory, "approximate memory limit, at least 256MB")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("1GB");
  command.add_option(
      "--work", job.work,
      "local folder for temporary files; default: the folder of --out, or TMPDIR or /tmp if --out "
      "is on gs:// or s3://");
  command.add_flag("--ignore-space", job.ignore_space,
                   "start even if there seems to be too little disk space");
  command.add_flag("--overwrite", job.overwrite, "replace existing output files");
}

// Turns Unicode normalization off for the original order; the original programs do not normalize.
// Throws UsageError if the command line asks for one.
void keep_characters_in_original_order(const CLI::App& command, data::ExampleJob& job,
                                       data::ExampleOrder order) {
  if (order != data::ExampleOrder::original) return;
  if (command.count("--normalize") > 0 && job.text.format.normalize != text::Normalization::none)
    throw UsageError(
        "--normalize nfc: must be none with --order original, which does not normalize text",
        "remove --normalize, or use --order shuffled");
  job.text.format.normalize = text::Normalization::none;
}

void add_bert(CLI::App& data) {
  auto job = std::make_shared<data::BertExamplesJob>();
  auto* command =
      data.add_subcommand("bert", "build BERT's training examples (TFRecord) from text");
  add_job_options(*command, *job, job->order);
  command
      ->add_option("--shards", job->shards, "number of output files, name-00000-of-0000N.tfrecord")
      ->capture_default_str();
  add_pair_options(*command, job->pairs);
  command->add_option("--seed", job->seed, "random seed")->capture_default_str();
  add_tokenizer_flags(*command, job->tokenizer);
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([command, job, json] {
    print_result(*json, [&] {
      keep_characters_in_original_order(*command, *job, job->order);
      const data::BuildSummary made = data::build_bert_examples(*job);
      print_summary(*job, made);
      OrderedJson out = examples_json(*job, made.text, made.examples, job->pairs.seq_length);
      out["masked_tokens"] = made.masked_tokens;
      return out;
    });
  });
}

void add_electra(CLI::App& data) {
  constexpr std::int64_t kOriginalFiles = 1000;
  auto job = std::make_shared<data::ElectraExamplesJob>();
  auto shards = std::make_shared<std::optional<std::int64_t>>();
  auto* command =
      data.add_subcommand("electra", "build ELECTRA's training examples (TFRecord) from text");
  add_job_options(*command, *job, job->order);
  command->add_option(
      "--shards", *shards,
      "number of output files, name-00000-of-0000N.tfrecord; with --order original: "
      "name.tfrecord-0-of-N, default 1000");
  command->add_option("--seq-length", job->options.seq_length, "tokens per example")
      ->capture_default_str();
  command
      ->add_option("--blanks-separate-docs", job->options.blanks_separate_docs,
                   "true or false: blank lines in text files separate documents")
      ->capture_default_str();
  command->add_option("--seed,--random-seed", job->seed, "random seed")->capture_default_str();
  add_tokenizer_flags(*command, job->tokenizer);
  auto json = std::make_shared<bool>(false);
  add_json_flag(*command, *json);
  command->callback([command, job, shards, json] {
    const bool original = job->order == data::ExampleOrder::original;
    job->shards = shards->value_or(original ? kOriginalFiles : 1);
    job->shard_names = original ? data::ShardNames::original : data::ShardNames::sortable;
    print_result(*json, [&] {
      keep_characters_in_original_order(*command, *job, job->order);
      const data::ExampleSummary made = data::build_electra_examples(*job);
      print_summary(*job, made);
      return examples_json(*job, made.text, made.examples, job->options.seq_length);
    });
  });
}

}  // namespace

void add_data_command(CLI::App& app) {
  auto* data = app.add_subcommand("data", "build training examples, and inspect data files");
  data->require_subcommand(1);
  add_bert(*data);
  add_electra(*data);
  add_data_tokens_command(*data);
  add_data_convert_command(*data);
  add_data_inspect_command(*data);
  add_data_overview_command(*data);
  add_data_index_command(*data);
  add_data_bench_command(*data);
}

}  // namespace smelt::cli
