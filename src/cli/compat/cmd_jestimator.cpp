#include "cli/compat/cmd_jestimator.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/log.h"
#include "cli/compat/jestimator_eval.h"
#include "cli/compat/jestimator_predict.h"
#include "cli/compat/jestimator_train.h"
#include "cli/compat/original_job.h"
#include "cli/options/original_flags.h"
#include "train/process_group.h"

namespace smelt::cli {
namespace {

const char* name_of(EstimatorMode mode) {
  switch (mode) {
    case EstimatorMode::train:
      return "train";
    case EstimatorMode::eval_once:
      return "eval_once";
    case EstimatorMode::eval_wait:
      return "eval_wait";
    case EstimatorMode::predict:
      return "predict";
  }
  return "";
}

void run_estimator(JestimatorFlags& f) {
  f.on = f.run.on();
  if (!f.module_config.empty())
    log_info("module_config {} is not read: smelt has the same defaults", f.module_config);
  if (f.train_shuffle_buf)
    log_info("train_shuffle_buf {} is not used: smelt shuffles all windows of an epoch",
             *f.train_shuffle_buf);
  if (f.profiler_port) log_warning("profiler_port {} is not used", *f.profiler_port);
  const StartingPoint start = starting_point(f);
  const EstimatorMode mode = mode_of(f, start);
  check_replays(f.own, mode == EstimatorMode::train, "--mode=train");
  if (f.mode.empty()) log_info("mode {}, inferred from the patterns", name_of(mode));
  switch (mode) {
    case EstimatorMode::train:
      return train_jestimator(f, start);
    case EstimatorMode::eval_once:
      return evaluate_jestimator(f, start);
    case EstimatorMode::eval_wait:
      train::require_single_process("--mode=eval_wait");
      return follow_jestimator(f);
    case EstimatorMode::predict:
      train::require_single_process("--mode=predict");
      return predict_jestimator(f, start);
  }
}

}  // namespace

void add_jestimator_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "jestimator", "pretrain a BERT with Amos or AdamW: the original JEstimator's estimator.py");
  const auto flags = add_jestimator_flags(*command);
  command->callback([flags] {
    run_in_pod(
        flags->own.pod, [&] { return flags->run.device.value_or("auto"); },
        [&] { run_estimator(*flags); });
  });
}

void add_jestimator_job(CLI::App& app, const TakeJob& take) {
  auto* command = app.add_subcommand("jestimator", "the original JEstimator's estimator.py");
  const auto f = add_jestimator_flags(*command);
  command->callback([f, take] {
    if (!f->max_train_steps)
      throw UsageError("plan: --train_epochs needs the data to compute the number of steps",
                       "give --max_train_steps, 300000 in the tutorial");
    take([f](std::int64_t devices) {
      f->on = f->run.on_tpu(devices);
      train::TrainJob job = jestimator_job(*f);
      job.config.schedule.total_steps = *f->max_train_steps;
      job.checkpoint.save_interval_steps = f->check_every_steps;
      job.fields = jestimator_fields("valid");
      return job;
    });
  });
}

}  // namespace smelt::cli
