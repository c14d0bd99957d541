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
#include "pipeline/evaluation.h"
#include "pipeline/load_recipe.h"
#include "pipeline/pipeline.h"
#include "pipeline/predictions.h"
#include "pipeline/recipe_paths.h"

namespace smelt {
namespace {

struct TttJob {
  TttFlags flags;
  RunFlags run;
  std::vector<std::string> settings;
  bool overwrite = false;
};

DeviceConfig devices_for(const TttJob& job) {
  RunFlags run = job.run;
  if (!run.device && job.flags.use_gpu && !job.flags.use_tpu) run.device = "gpu";
  const DeviceConfig on = run.on();
  if (job.flags.use_tpu && on.device != "tpu")
    throw UsageError(str("--use_tpu: no TPU is on this machine, only ", on.device),
                     "run it on the TPU's own machine, or leave --use_tpu out");
  if (job.flags.tpu_address != TttFlags().tpu_address)
    log_info("tpu_address {}: the TPU of this machine is used, which needs no address",
             job.flags.tpu_address);
  return on;
}

// What the original prints of predictions: scikit-learn's report, or of a translation BLEU.
void tell_predictions(const TttFlags& f, const Recipe& r, const std::string& part) {
  const RecipePaths paths(r);
  const ReadPredictions p = read_predictions(paths.predictions);
  std::ostringstream text;
  if (f.task == "translation") {
    const double bleu = score_of_all(metric_of("bleu", p.said, p.is), p.is.size());
    text << part << "_eval_bleu: " << bleu << "\n";
  } else {
    const NamedCounts c = counts_of(p.said, p.is);
    text << part << "_eval_report:\n"
         << classification_report(c.counts, c.names, 4) << part
         << "_eval_acc: " << accuracy(c.counts) << "\n";
  }
  write_file(join_path(r.out, part + "_report.txt"), text.str());
  std::cout << text.str() << std::flush;
}

// The run's own recipe with what this command says of it: a test.json may have come after training.
void evaluate_part(const TttJob& job, const FieldValues& fields, const std::string& split,
                   const std::string& part) {
  const TttFlags& f = job.flags;
  std::vector<std::string> settings{"eval.split=" + split};
  if (const auto test = fields.find("data.test"); split == "test" && test != fields.end())
    settings.push_back("data.test=" + test->second);
  if (f.ck_index_select == -1) settings.emplace_back("eval.best=false");
  settings.insert(settings.end(), job.settings.begin(), job.settings.end());
  const Recipe r = load_recipe(fields.at("out"), settings);
  const Evaluation e = evaluate_model(r);
  std::cout << evaluation_report(r, e) << std::flush;
  tell_predictions(f, r, part);
}

void train(const TttJob& job, const Recipe& recipe, std::int64_t devices) {
  run_recipe(recipe, {.overwrite = job.overwrite}, [&](const Evaluation& e) {
    std::cout << evaluation_report(recipe, e) << std::flush;
    if (job.flags.task != "pretrain") tell_predictions(job.flags, recipe, "val");
    write_file(join_path(recipe.out, "best_metrics.json"), evaluation_json(e).dump(2) + "\n");
  });
  write_file(join_path(recipe.out, "args.json"), ttt_arguments(job.flags, devices).dump(2) + "\n");
}

void run_ttt(const TttJob& job) {
  const DeviceConfig on = devices_for(job);
  const auto fields = ttt_recipe(job.flags, on.device, on.devices);
  if (job.flags.do_train)
    train(job, recipe_of(fields, "smelt ttt", job.settings, job.overwrite), on.devices);
  else if (job.flags.do_eval)
    evaluate_part(job, fields, "validation", "val");
  if (job.flags.do_test) evaluate_part(job, fields, "test", "test");
}

void add_training_flags(OriginalFlags& add, TttFlags& f) {
  const auto positive = number_from(1);
  add("per_device_train_batch_size", f.per_device_train_batch_size, "examples of a step, a device")
      ->check(positive);
  add("eval_batch_size", f.eval_batch_size, "examples of an evaluation's batch")->check(positive);
  add("num_epochs_train", f.num_epochs_train, "passes over train.json")->check(positive);
  add("lr", f.lr, "highest learning rate of Adam");
  add("warmup_ratio", f.warmup_ratio, "share of the steps that warm up, unless constant");
  add("scheduler,--schedule", f.scheduler, "of the learning rate")
      ->check(CLI::IsMember({"warmuplinear", "warmupconstant", "constant", "constantlinear"}));
  add("patience", f.patience, "evaluations without a better one that end the run")->check(positive);
  add("seed", f.seed, "random seed");
  add("log_steps", f.log_steps, "steps between evaluations; -1: one an epoch")
      ->check(number_from(-1));
  add("keep_ck_num", f.keep_ck_num, "newest checkpoints kept, beside the best")->check(positive);
  add("eval_on", f.eval_on,
      "metric that selects the best checkpoint: acc, loss, or bleu (t2t and translation)");
}

void add_ttt_flags(CLI::App& command, TttJob& job) {
  TttFlags& f = job.flags;
  OriginalFlags add(command);
  add("model_select", f.model_select, "folder of a BERT, an ELECTRA or a T5");
  add("data_path", f.data_path,
      "folder of train.json, val.json and test.json: a JSON object a line");
  add("dataset_name", f.dataset_name, "not for smelt: no data sets are downloaded");
  add("task", f.task, "what is learned")
      ->check(CLI::IsMember({"single-label-cls", "t2t", "translation", "pretrain"}));
  add("max_seq_length", f.max_seq_length, "tokens of a text to classify");
  add("max_src_length", f.max_src_length, "tokens of a T5's text");
  add("max_tgt_length", f.max_tgt_length, "tokens of a T5's answer");
  add("source_field_name", f.source_field_name, "field of the text");
  add("target_field_name", f.target_field_name, "field of the label or answer");
  add_training_flags(add, f);
  add("ck_index_select", f.ck_index_select, "--do_test takes the best (0) or the newest (-1)");
  add("do_train", f.do_train, "train on train.json");
  add("do_eval", f.do_eval, "evaluate on val.json");
  add("do_test", f.do_test, "evaluate on test.json");
  add("use_gpu", f.use_gpu, "device gpu");
  add("use_tpu", f.use_tpu, "the TPU of this machine");
  add("tpu_address", f.tpu_address, "accepted; a TPU is used on its own machine");
  add("use_tb", f.use_tb, "accepted: TensorBoard's files are always written");
  add("default_store", f.default_store, "accepted: everything is stored");
}

}  // namespace

void add_ttt_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "ttt", "the original ttt's run.py: fine-tunes BERT, ELECTRA and T5 on labelled texts");
  auto job = std::make_shared<TttJob>();
  add_ttt_flags(*command, *job);
  add_run_flags(*command, job->run);
  take_the_last(*command);
  command->add_option("--output_path", job->flags.output_path,
                      "folder of the run; default: tmp/<model>_<task>_<data>, as the original");
  command->add_option("--set", job->settings, "any field of the recipe that this is, FIELD=VALUE");
  command->add_flag("--overwrite", job->overwrite, "begin anew where a run is");
  command->callback([job] { run_ttt(*job); });
}

}  // namespace smelt
