#include "pipeline/stages/pipeline.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/storage/checkpoint.h"
#include "data/preprocess/example_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/train_step/model_flops.h"
#include "pipeline/config/distillation.h"
#include "pipeline/config/epochs.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/text_size.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "train/job_checks.h"
#include "train/job_program.h"

namespace smelt::pipeline {
namespace {

// Returns whether answers are generated at evaluations. Generation is slow, so this is only done if
// best_metric needs it.
bool generates_answers(const Recipe& r) {
  const auto& names = r.type->generated_measures;
  return std::ranges::find(names, r.train.checkpoint.best_metric) != names.end();
}

// Returns the sampler that fills the masks of track.fill during training.
decltype(train::TrackChoice::sampler) sampler_of(const Recipe& r, const model::Task& task) {
  std::vector<std::string> texts;
  for (const std::string_view text : split(r.track.fill, '|')) texts.emplace_back(trim(text));
  if (r.type->sampler)
    return [r, texts](std::shared_ptr<const pjrt::Client> client,
                      const model::ShardingPlan& placement) {
      return r.type->sampler(r, texts, std::move(client), placement);
    };
  execution::FillMaskJob job = fill_job_to_train(*r.type, task);
  job.exact_products = r.train.compute->precision == model::Precision::f32_exact;
  const auto tokenizer = text::BertTokenizer::load(vocabulary_path(r), tokenizer_flags(r));
  return [job, texts, tokenizer](std::shared_ptr<const pjrt::Client> client,
                                 const model::ShardingPlan& placement) {
    return std::make_unique<const execution::MaskSampler>(std::move(client), job, tokenizer, texts,
                                                          placement);
  };
}

// Returns the part of the training job that check_resume() compares with the checkpoint. The epochs
// of `r` are already converted to steps.
train::TrainJob same_job(const Recipe& r) {
  const RecipePaths paths(r);
  train::TrainJob job =
      train_job(r.train, distilled_task(r, r.type->task(r), DistilledFor::training));
  job.data = paths.train_records;
  job.vocab = made_vocabulary(paths);
  job.model_dir = paths.model_dir;
  return job;
}

}  // namespace

std::optional<std::int64_t> check_resume_step(const Recipe& r) {
  return train::check_resume(same_job(with_epochs(r)));
}

train::TrainSummary train_model(const Recipe& given, const Beginning& beginning) {
  const Recipe r = with_epochs(given);
  const RecipePaths paths(r);
  train::TrainJob job = same_job(r);
  job.begin = beginning.begin;
  job.overwrite = beginning.overwrite;
  job.track.settings = r.sections;
  job.accepted = [&] {
    keep_recipe(r);
    for (const auto& [name, content] : r.type->model_files(r))
      io::write_file(io::join_path(paths.model_dir, name), content);
  };
  log_info("train: {}", run_length_text(r));
  job.track.histograms_every = r.track.histograms_every;
  job.track.gradient_histograms = r.track.gradients;
  if (!r.track.fill.empty()) job.track.sampler = sampler_of(r, r.type->task(r));
  if (r.eval.every > 0) {
    const HeldOutBatches batches = held_out_batches(r, job.task, paths.heldout_records);
    job.validation = {.data = paths.heldout_records,
                      .batch_size = batches.size,
                      .steps = batches.steps,
                      .passes = r.eval.passes,
                      .repeats = batches.repeats,
                      .averages = r.train.ema_decay > 0 && r.eval.averaged};
    job.check_every = r.eval.every;
    if (generates_answers(r)) {
      job.state_measures = r.type->generated_measures;
      job.make_state_measures = [&r](std::shared_ptr<const pjrt::Client> client) {
        return r.type->state_measures(r, std::move(client));
      };
    }
  }
  return train::train(job);
}

train::GradientReport replay_model(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  train::TrainJob job =
      train_job(r.train, distilled_task(r, r.type->task(r), DistilledFor::training));
  job.vocab = made_vocabulary(paths);
  return train::replay(job, folder.empty() ? train::newest_bad_batch(paths.model_dir) : folder);
}

void export_model(const Recipe& r, const std::string& folder) {
  if (!r.type->export_folder)
    throw UsageError(str("export: a model of type ", r.type->name, " cannot be exported"),
                     "its checkpoints are in the recipe's model folder");
  r.type->export_folder(r, folder);
}

}  // namespace smelt::pipeline
