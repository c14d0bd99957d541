#include "cli/compat/jestimator_flags.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"

namespace smelt::cli {
namespace {

void add_module_flags(CLI::App& command, JestimatorFlags& f) {
  OriginalFlags add(command);
  add("module_imp", f.module_imp,
      "jestimator.models.bert.pretrain, …rope.pretrain or …bert_rpe.pretrain")
      ->required();
  add("module_config", f.module_config, "the original's file of defaults: accepted, not read");
  OriginalFlags model(command, "--module_config.model_config.");
  model::visit_fields(f.model, [&](const std::string& name, auto& value, const char* help) {
    if (name == "relative_attention_max_distance")
      model(name, f.relative_attention_max_distance, help);
    else if (name != "variant")
      model(name, value, help);
  });
  model("num_labels", f.num_labels, "for fine-tuning: accepted, not used");
  model("num_special_tokens", f.num_special_tokens, "for fine-tuning: accepted, not used");
  OriginalFlags optimizer(command, "--module_config.opt_config.");
  auto& o = f.optimizer;
  optimizer("optimizer", o.optimizer, "adamw or amos")->check(CLI::IsMember({"adamw", "amos"}));
  optimizer("learning_rate", o.learning_rate, "learning rate after the warm-up")
      ->check(number_from(0));
  optimizer("warmup_steps", o.warmup_steps, "steps of linear warm-up")->check(number_from(0));
  optimizer("linear_decay_to_step", o.linear_decay_to_step,
            "step at which the learning rate reaches 0; default: no decay")
      ->check(number_from(1));
  optimizer("momentum", o.momentum, "beta1 of adamw; momentum of amos")->check(number_below(1, 0));
  optimizer("beta", o.beta, "decay rate of the mean of squared gradients")->check(number_below(1));
  optimizer("weight_decay", o.weight_decay, "weight decay of adamw")->check(number_from(0));
  OriginalFlags other(command, "--module_config.");
  other("mask_token_id", f.mask_token_id, "token id that replaces masked tokens; required")
      ->check(number_from(0));
  other("mask_rate", f.mask_rate, "probability that a token is masked")->check(number_below(1));
}

[[noreturn]] void refuse_seqio(const std::string& where) {
  throw UsageError(str(where, ": seqio tasks are not supported"),
                   "`smelt data tokens` makes a token store of their text");
}

// Returns the file pattern. The original also accepts seqio tasks; throws UsageError for those.
std::string files_only(const std::string& pattern) {
  if (pattern.starts_with("seqio://")) refuse_seqio(pattern);
  return "";
}

void add_training_flags(OriginalFlags& add, JestimatorFlags& f) {
  add("max_train_steps", f.max_train_steps,
      "total number of training steps; default: until stopped")
      ->check(number_from(1));
  add("random_seed", f.random_seed,
      "random seed of weights, masks and the data order; default: from the clock");
  add("train_epochs", f.train_epochs, "number of epochs; default: unlimited")
      ->check(number_from(1));
  add("train_pattern", f.train_pattern,
      "training data: tf.data snapshot folders or token stores, as patterns, separated by "
      "commas")
      ->check(files_only, "");
  add("train_batch_size", f.train_batch_size, "sequences per step, over all devices")
      ->check(number_from(1));
  add("train_shuffle_buf", f.train_shuffle_buf,
      "accepted; smelt shuffles all windows (docs/reference/formats/record_order.md)");
  add("train_consecutive", f.train_consecutive, "not supported by these models");
  add("train_load_step", f.train_load_step, "continue counting from the step of --checkpoint_path");
  add("check_every_steps", f.check_every_steps, "steps between checkpoints, each with a validation")
      ->check(number_from(1));
  add("max_ckpt", f.max_ckpt, "number of newest checkpoints to keep")->check(number_from(1));
  add("save_every_steps", f.save_every_steps,
      "steps between checkpoints in <model_dir>/save, which are never deleted")
      ->check(number_from(1));
  add("profiler_port", f.profiler_port, "accepted, not used");
}

void add_data_flags_of(OriginalFlags& add, const std::string& short_name, const std::string& what,
                       std::string& pattern, std::int64_t& batch, std::int64_t& examples) {
  add(str(short_name, "_pattern"), pattern, str("data to ", what, ", as --train_pattern"))
      ->check(files_only, "");
  add(str(short_name, "_batch_size"), batch, "sequences per batch")->check(number_from(1));
  add(str("num_", short_name, "_examples"), examples, "number of examples; -1: all")
      ->check(number_from(-1));
}

}  // namespace

std::shared_ptr<JestimatorFlags> add_jestimator_flags(CLI::App& command) {
  auto f = std::make_shared<JestimatorFlags>();
  add_module_flags(command, *f);
  OriginalFlags add(command);
  add("mode", f->mode,
      "train, eval_once, eval_wait or predict; default: inferred from the patterns")
      ->check(CLI::IsMember({"train", "eval_once", "eval_wait", "predict"}));
  add("model_dir", f->model_dir,
      "folder for checkpoints; training resumes from its newest checkpoint");
  add("checkpoint_path", f->checkpoint_path,
      "pretrained weights, used if model_dir has no checkpoint");
  add("dry_run", f->dry_run, "compile the program and read the data without training");
  add_training_flags(add, *f);
  add_data_flags_of(add, "valid", "validate on during training", f->valid_pattern,
                    f->valid_batch_size, f->num_valid_examples);
  add_data_flags_of(add, "eval", "evaluate on", f->eval_pattern, f->eval_batch_size,
                    f->num_eval_examples);
  add("eval_label", f->eval_label, "folder in model_dir, and prefix of the TensorBoard tags");
  add("check_ckpt_every_secs", f->check_ckpt_every_secs,
      "seconds between checks for new checkpoints, with eval_wait")
      ->check(number_from(0));
  add("save_high", f->save_high,
      "keep the checkpoints with the highest values of these metrics, separated by commas");
  add("save_low", f->save_low,
      "keep the checkpoints with the lowest values of these metrics, separated by commas");
  add("max_save", f->max_save, "number of these checkpoints to keep")->check(number_from(1));
  add_data_flags_of(add, "pred", "predict", f->pred_pattern, f->pred_batch_size,
                    f->num_pred_examples);
  add("num_partitions", f->num_partitions, "number of devices that each parameter is sharded over")
      ->check(number_from(1));
  add("model_parallel_submesh", f->model_parallel_submesh,
      "same as --num_partitions, as a tuple (1,1,1,2)");
  for (const char* name : {"logtostderr", "alsologtostderr"})
    add(name, f->log_to_stderr, "accepted: smelt always logs to stderr");

  command.add_option_function<std::string>(
      "--seqio_additional_cache_dirs",
      [](const std::string&) { refuse_seqio("--seqio_additional_cache_dirs"); },
      "not supported: seqio tasks cannot be read");
  add_run_flags(command, f->run);
  add_original_run_flags(command, f->own);
  add("parity", f->parity, "a restarted run reads the data from the beginning, as in the original");
  add("output", f->output,
      "with predict: output file with one line per example; default: standard output");
  take_the_last(command);
  return f;
}

}  // namespace smelt::cli
