#include "train/job_checks.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "base/progress.h"
#include "data/input_pipeline/description.h"
#include "execution/inference/scorer.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "train/initial_state.h"

namespace smelt::train {

void check_described(const TrainJob& job, const data::ExampleSource& source) {
  if (std::cmp_less(source.epoch_size(), job.config.batch_size))
    log_warning("train: a batch of {} repeats examples, because there are only {}",
                job.config.batch_size, counted(source.epoch_size(), "example"));
  if (const auto description = source.description())
    data::check_description(
        *description,
        {.examples = source.size(), .vocab = job.vocab, .settings = job.task.described});
}

void warn_of_warmup(const model::Schedule& s, const model::Optimizer& optimizer,
                    const Fields& fields) {
  const std::int64_t last = s.total_steps - 1 + optimizer.first_step;
  if (s.warmup == model::Warmup::none || s.warmup_steps == 0 || s.warmup_steps <= last) return;
  log_warning("train: {} {} is too long for {} {}: {} {} is never reached",
              fields("schedule.warmup_steps"), s.warmup_steps, fields("steps"), s.total_steps,
              fields("optimizer.learning_rate"), s.learning_rate);
}

void warn_of_settings(const TrainJob& job) {
  if (job.seconds == 0) warn_of_warmup(job.config.schedule, job.config.optimizer, job.fields);
  for (const io::Feature& feature : job.task.features)
    if (feature.name == "masked_lm_positions" && feature.count() > feature.limit)
      log_warning("train: {} {} is more than {} {}: the rest is always padding",
                  job.fields("data.max_predictions"), feature.count(),
                  job.fields("data.seq_length"), feature.limit);
}

void check_no_model_below(const std::string& model_dir) {
  for (const std::string& name : io::list_folder(model_dir)) {
    const std::string path = io::join_path(model_dir, name);
    const bool own = name == "save" || name == "best" || name.starts_with("bad-batch-") ||
                     checkpoint::is_checkpoint_path(path);
    if (!own && io::is_folder(path) && checkpoint::latest_checkpoint(path))
      throw UsageError(
          str("train: ", path,
              " is the folder of another model and would be removed with everything in ",
              model_dir),
          "move it elsewhere, or choose another output folder");
  }
}

void check_memory(const model::StepProgram& program, std::string_view platform) {
  if (platform != "cpu") return;
  double bytes = 0;  // a double, since the size may exceed 64 bits
  for (const model::StateLayout* layout : {&program.held, &program.state})
    for (const model::StateTensor& tensor : layout->tensors) {
      double size = static_cast<double>(compiler::dtype_size_bytes(tensor.shape.dtype));
      for (const std::int64_t dim : tensor.shape.dims) size *= static_cast<double>(dim);
      bytes += size;
    }
  const double memory = machine_memory();
  if (bytes <= memory) return;
  throw UsageError(
      str("train: the weights and optimizer slots of the model take ", bytes_text(bytes),
          ", more than this machine's memory of ", bytes_text(memory)),
      "choose a smaller model, or check its sizes");
}

Json settings_of(const TrainJob& job, const data::ExampleSource& source) {
  model::TrainingConfig config = job.config;
  config.devices = job.on.devices;
  Json out = execution::run_settings(job.task, config, source, job.vocab);
  out["precision"] = job.on.compute ? model::name(job.on.compute->precision)
                                    : std::string(compiler::dtype_name(config.compute.dtype));
  return out;
}

std::optional<std::int64_t> check_resume(const TrainJob& job) {
  const auto newest = checkpoint::load_latest_state(job.model_dir);
  if (!newest) return std::nullopt;
  execution::check_vocabulary(newest->state, job.vocab, newest->path);
  const Json settings = settings_of(job, *open_training_data(job));
  execution::check_same_run(newest->state, settings, newest->path, job.fields);
  check_finished_run(job, *newest, settings);
  return newest->step;
}

void check_best(const TrainJob& job, std::span<const model::ReportedMeasure> measured) {
  if (job.checkpoint.best_metric.empty()) return;
  std::vector<std::string> known;
  for (const model::ReportedMeasure& m : measured) known.push_back(m.name);
  if (!known.empty()) known.emplace_back(execution::kLoss);
  known.insert(known.end(), job.state_measures.begin(), job.state_measures.end());
  if (std::ranges::find(known, job.checkpoint.best_metric) == known.end())
    throw UsageError(str("train: ", job.fields("checkpoint.best_metric"), " is '",
                         job.checkpoint.best_metric, "', which the evaluation does not report"),
                     known.empty() ? "enable evaluation during training"
                                   : did_you_mean(job.checkpoint.best_metric, known));
}

}  // namespace smelt::train
