#include "cli/compat/create_pretraining_data.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/original_flags.h"
#include "data/preprocess/bert_examples.h"

namespace smelt::cli {

void add_create_pretraining_data_command(CLI::App& app) {
  auto job = std::make_shared<data::BertExamplesJob>();
  job->order = data::ExampleOrder::original;
  job->overwrite = true;
  job->description = false;
  job->log_examples = true;
  data::PairOptions& o = job->pairs;
  auto* command = app.add_subcommand(
      "create_pretraining_data",
      "make BERT's pretraining examples: the original program's flags, defaults and output");
  command->add_option("--input_file", job->text.input, "text files or patterns, comma-separated")
      ->required();
  command->add_option("--output_file", job->output, "TFRecord files, comma-separated")->required();
  command->add_option("--vocab_file", job->vocab, "vocabulary")->required();
  job->tokenizer.lower_case = true;
  job->tokenizer.lower_case_name = "--do_lower_case";
  command->add_flag_function(
      "--do_lower_case,!--nodo_lower_case",
      [job](std::int64_t count) { job->tokenizer.lower_case = count > 0; }, "default true");
  command->add_flag("--do_whole_word_mask,!--nodo_whole_word_mask", o.whole_word_mask,
                    "default false");
  command->add_option("--max_seq_length", o.seq_length, "")->capture_default_str();
  command->add_option("--max_predictions_per_seq", o.max_predictions, "")->capture_default_str();
  command->add_option("--random_seed", job->seed, "")->capture_default_str();
  command->add_option("--dupe_factor", o.dupe_factor, "")->capture_default_str();
  command->add_option("--masked_lm_prob", o.masked_lm_prob, "")->capture_default_str();
  command->add_option("--short_seq_prob", o.short_seq_prob, "")->capture_default_str();
  take_the_last(*command);
  command->callback([job] { data::build_bert_examples(*job); });
}

}  // namespace smelt::cli
