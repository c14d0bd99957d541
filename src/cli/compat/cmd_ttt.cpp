#include "cli/compat/cmd_ttt.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "cli/compat/ttt_recipe.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"
#include "cli/options/original_flags.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/predictions.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"

namespace smelt::cli {
namespace {

struct TttJob {
  TttFlags flags;
  RunFlags run;
  std::vector<std::string> settings;
  bool overwrite = false;
};

model::DeviceConfig devices_for(const TttJob& job) {
  RunFlags run = job.run;
  if (!run.device && job.flags.use_gpu && !job.flags.use_tpu) run.device = "gpu";
  const model::DeviceConfig on = run.on();
  if (job.flags.use_tpu && on.device != "tpu")
    throw UsageError(str("--use_tpu: this machine has no TPU, only ", on.device),
                     "run the command on the TPU's host, or remove --use_tpu");
  if (job.flags.tpu_address != TttFlags().tpu_address)
    log_info("tpu_address {} is not used: the TPU of this machine needs no address",
             job.flags.tpu_address);
  return on;
}

// Prints the scores of predictions as the original does: scikit-learn's classification report, or
// BLEU for a translation. Also writes them to <part>_report.txt.
void print_predictions(const TttFlags& f, const pipeline::Recipe& r, const std::string& part) {
  const pipeline::RecipePaths paths(r);
  const pipeline::ReadPredictions p = pipeline::read_predictions(paths.predictions);
  std::ostringstream text;
  if (f.task == "translation") {
    const double bleu = evaluation::score_of_all(
        evaluation::metric_of("bleu", p.predictions, p.labels), p.labels.size());
    text << part << "_eval_bleu: " << bleu << "\n";
  } else {
    const evaluation::NamedCounts c = evaluation::counts_of(p.predictions, p.labels);
    text << part << "_eval_report:\n"
         << evaluation::classification_report(c.counts, c.names, 4) << part
         << "_eval_acc: " << evaluation::accuracy(c.counts) << "\n";
  }
  io::write_file(io::join_path(r.out, part + "_report.txt"), text.str());
  std::cout << text.str() << std::flush;
}

// Evaluates the trained model on `split` and prints the results, labelled `part`. The test set is
// that of this command, because test.json may have changed since the training.
void evaluate_part(const TttJob& job, const pipeline::FieldValues& fields, const std::string& split,
                   const std::string& part) {
  const TttFlags& f = job.flags;
  std::vector<std::string> settings{"eval.split=" + split};
  if (const auto test = fields.find("data.test"); split == "test" && test != fields.end())
    settings.push_back("data.test=" + test->second);
  if (f.ck_index_select == -1) settings.emplace_back("eval.best=false");
  settings.insert(settings.end(), job.settings.begin(), job.settings.end());
  const pipeline::Recipe r = pipeline::load_recipe(fields.at("out"), settings);
  const execution::Evaluation e = pipeline::evaluate_model(r);
  std::cout << pipeline::evaluation_report(r, e) << std::flush;
  print_predictions(f, r, part);
}

void train(const TttJob& job, const pipeline::Recipe& recipe, std::int64_t devices) {
  pipeline::run_recipe(recipe, {.overwrite = job.overwrite}, [&](const execution::Evaluation& e) {
    std::cout << pipeline::evaluation_report(recipe, e) << std::flush;
    if (job.flags.task != "pretrain") print_predictions(job.flags, recipe, "val");
    io::write_file(io::join_path(recipe.out, "best_metrics.json"),
                   pipeline::evaluation_json(e).dump(2) + "\n");
  });
  io::write_file(io::join_path(recipe.out, "args.json"),
                 ttt_arguments(job.flags, devices).dump(2) + "\n");
}

void run_ttt(const TttJob& job) {
  const model::DeviceConfig on = devices_for(job);
  const auto fields = ttt_recipe(job.flags, on.device, on.devices);
  if (job.flags.do_train)
    train(job, pipeline::recipe_of(fields, "smelt ttt", job.settings, job.overwrite), on.devices);
  else if (job.flags.do_eval)
    evaluate_part(job, fields, "validation", "val");
  if (job.flags.do_test) evaluate_part(job, fields, "test", "test");
}

void add_training_flags(OriginalFlags& add, TttFlags& f) {
  const auto positive = number_from(1);
  add("per_device_train_batch_size", f.per_device_train_batch_size,
      "training examples per step and device")
      ->check(positive);
  add("eval_batch_size", f.eval_batch_size, "examples per evaluation batch")->check(positive);
  add("num_epochs_train", f.num_epochs_train, "number of epochs over train.json")->check(positive);
  add("lr", f.lr, "highest learning rate of Adam");
  add("warmup_ratio", f.warmup_ratio,
      "share of the steps used for warm-up; not used by the constant schedule");
  add("scheduler,--schedule", f.scheduler, "learning rate schedule")
      ->check(CLI::IsMember({"warmuplinear", "warmupconstant", "constant", "constantlinear"}));
  add("patience", f.patience, "early stopping: evaluations without improvement before the run ends")
      ->check(positive);
  add("seed", f.seed, "random seed");
  add("log_steps", f.log_steps, "steps between evaluations; -1: one per epoch")
      ->check(number_from(-1));
  add("keep_ck_num", f.keep_ck_num, "number of newest checkpoints to keep, in addition to the best")
      ->check(positive);
  add("eval_on", f.eval_on,
      "metric that selects the best checkpoint: acc, loss, or bleu (t2t and translation)");
}

void add_ttt_flags(CLI::App& command, TttJob& job) {
  TttFlags& f = job.flags;
  OriginalFlags add(command);
  add("model_select", f.model_select, "folder of a pretrained BERT, ELECTRA or T5");
  add("data_path", f.data_path,
      "folder with train.json, val.json and test.json: one JSON object per line");
  add("dataset_name", f.dataset_name, "not supported: smelt downloads no datasets");
  add("task", f.task, "the task to train")
      ->check(CLI::IsMember({"single-label-cls", "t2t", "translation", "pretrain"}));
  add("max_seq_length", f.max_seq_length, "maximum number of tokens of a text to classify");
  add("max_src_length", f.max_src_length, "maximum number of tokens of a T5's input text");
  add("max_tgt_length", f.max_tgt_length, "maximum number of tokens of a T5's target text");
  add("source_field_name", f.source_field_name, "JSON field of the text");
  add("target_field_name", f.target_field_name, "JSON field of the label or target text");
  add_training_flags(add, f);
  add("ck_index_select", f.ck_index_select,
      "checkpoint for --do_test: the best (0) or the newest (-1)");
  add("do_train", f.do_train, "train on train.json");
  add("do_eval", f.do_eval, "evaluate on val.json");
  add("do_test", f.do_test, "evaluate on test.json");
  add("use_gpu", f.use_gpu, "train on a GPU");
  add("use_tpu", f.use_tpu, "train on the TPU of this machine");
  add("tpu_address", f.tpu_address, "accepted, not used: run smelt on the TPU's host");
  add("use_tb", f.use_tb, "accepted, not used: TensorBoard files are always written");
  add("default_store", f.default_store, "accepted, not used: everything is stored");
}

}  // namespace

void add_ttt_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "ttt", "fine-tune BERT, ELECTRA and T5 on labelled texts: the original ttt's run.py");
  auto job = std::make_shared<TttJob>();
  add_ttt_flags(*command, *job);
  add_run_flags(*command, job->run);
  take_the_last(*command);
  command->add_option("--output_path", job->flags.output_path,
                      "folder for the run; default: tmp/<model>_<task>_<data>, as in the original");
  command->add_option("--set", job->settings,
                      "override a field of the recipe that the command runs, FIELD=VALUE");
  command->add_flag("--overwrite", job->overwrite, "delete an existing run and start again");
  command->callback([job] { run_ttt(*job); });
}

}  // namespace smelt::cli
