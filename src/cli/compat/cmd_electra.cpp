#include "cli/compat/cmd_electra.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/compat/electra_ask.h"
#include "cli/compat/electra_flops.h"
#include "cli/compat/electra_run.h"
#include "cli/options/number_check.h"
#include "cli/options/original_flags.h"
#include "data/preprocess/electra_examples.h"
#include "io/filesystem/path.h"

namespace smelt::cli {
namespace {

constexpr const char* kRecords = "pretrain_data.tfrecord";
constexpr std::int64_t kRecordFiles = 1000;

// The flags of the two programs that make training data.
struct DataFlags {
  data::ElectraExamplesJob job;
  bool lower_case = true, strip_accents = true;
  std::int64_t processes = 1;
  std::string folder, output_folder;

  void build() {
    job.order = data::ExampleOrder::original;
    job.shards = kRecordFiles;
    job.shard_names = data::ShardNames::original;
    job.own_folder = true;
    job.output = io::join_path(output_folder, kRecords);
    // The original keeps accents if it keeps the case.
    job.tokenizer = {.lower_case = lower_case,
                     .strip_accents = lower_case && strip_accents,
                     .lower_case_name = "--do-lower-case",
                     .strip_accents_name = "--do-strip-accents"};
    data::build_electra_examples(job);
  }
};

void add_data_flags(CLI::App& command, DataFlags& f) {
  command.add_option("--max-seq-length", f.job.options.seq_length, "tokens per example")
      ->capture_default_str();
  command.add_option("--num-processes", f.processes, "accepted; the examples do not depend on it")
      ->check(number_from(1))
      ->capture_default_str();
  command.add_flag("--do-lower-case,!--no-lower-case", f.lower_case, "default true");
  command.add_flag("--do-strip-accents,!--no-strip-accents", f.strip_accents,
                   "default true; only with lower case");
  command
      .add_option("--random-seed", f.job.seed,
                  "random seed; the examples are those of the original program if "
                  "random.seed(SEED) is added at its start")
      ->capture_default_str();
  command.add_flag("--overwrite", f.job.overwrite,
                   "replace existing records; other files in the folder are kept");
  take_the_last(command);
}

void add_build_pretraining_dataset(CLI::App& electra) {
  auto flags = std::make_shared<DataFlags>();
  auto* command = electra.add_subcommand(
      "build_pretraining_dataset",
      "make 1000 TFRecord files of training examples from a folder of text files");
  command->add_option("--corpus-dir", flags->job.folder, "folder of text files")->required();
  command->add_option("--vocab-file", flags->job.vocab, "vocabulary")->required();
  command->add_option("--output-dir", flags->output_folder, "folder for the TFRecord files")
      ->required();
  command
      ->add_option("--blanks-separate-docs", flags->job.options.blanks_separate_docs,
                   "true or false: blank lines separate documents")
      ->capture_default_str();
  add_data_flags(*command, *flags);
  command->callback([flags] { flags->build(); });
}

void add_build_openwebtext_pretraining_dataset(CLI::App& electra) {
  auto flags = std::make_shared<DataFlags>();
  flags->job.archives = true;
  flags->job.options.blanks_separate_docs = false;
  auto* command = electra.add_subcommand(
      "build_openwebtext_pretraining_dataset",
      "make 1000 TFRecord files of training examples from the OpenWebText archives");
  command
      ->add_option(
          "--data-dir", flags->folder,
          "folder with vocab.txt and openwebtext/*.xz; the records go to pretrain_tfrecords/")
      ->required();
  add_data_flags(*command, *flags);
  command->callback([flags] {
    flags->job.vocab = io::join_path(flags->folder, "vocab.txt");
    flags->job.folder = io::join_path(flags->folder, "openwebtext");
    flags->output_folder = io::join_path(flags->folder, "pretrain_tfrecords");
    flags->build();
  });
}

}  // namespace

void add_electra_command(CLI::App& app) {
  auto* electra = app.add_subcommand(
      "electra", "run the original ELECTRA programs: make data, pretrain, evaluate");
  electra->require_subcommand(1);
  add_build_pretraining_dataset(*electra);
  add_build_openwebtext_pretraining_dataset(*electra);
  add_electra_run_pretraining(*electra);
  add_electra_ask(*electra);
  add_electra_flops(*electra);
}

}  // namespace smelt::cli
