#include "pipeline/config/train_job.h"

#include "base/error.h"
#include "model/train_step/model_flops.h"
#include "pipeline/config/distillation.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_checks.h"
#include "train/job_checks.h"
#include "train/job_program.h"
#include "train/packing_plan.h"

namespace smelt::pipeline {
namespace {

// Returns whether the model is so deep that only a loop over its layers is compiled.
bool is_deep(const Recipe& r) {
  const std::int64_t layers =
      r.model.value("num_hidden_layers", r.model.value("num_layers", std::int64_t{0}));
  return layers > 100 && !r.train.compute->layers;
}

ProgramFacts facts_of(const model::StepProgram& program, std::int64_t batch_size) {
  ProgramFacts out;
  out.parameters = program.state.parameters();
  const auto bytes = [](const compiler::Shape& shape) {
    return shape.elements() * static_cast<std::int64_t>(compiler::dtype_size_bytes(shape.dtype));
  };
  for (std::size_t i = 0; i < program.state.tensors.size(); ++i) {
    const compiler::Shape& shape = program.state.tensors[i].shape;
    (i < program.state.values ? out.value_bytes : out.slot_bytes) += bytes(shape);
  }
  for (const io::Feature& feature : program.features)
    out.batch_bytes += batch_size * bytes({feature.dtype, feature.row});
  return out;
}

}  // namespace

train::TrainJob train_job(const train::TrainConfig& t, model::Task task) {
  train::TrainJob job;
  job.config = train::step_config(t, task);
  job.seconds = t.seconds;
  job.task = std::move(task);
  job.on = t;
  job.checkpoint = t.checkpoint;
  job.early_stopping = t.early_stopping;
  job.hang_minutes = t.hang_minutes;
  job.init = t.init_from;
  job.track.log_every = t.logging_steps;
  return job;
}

void check_program(const Recipe& r, const model::Task& of_model) {
  const RecipeChecks checks(r);
  const model::Task task = distilled_task(r, of_model, DistilledFor::inference);

  checks.require(
      r.eval.passes == 1 || task.draws, {"eval.passes"},
      str("eval.passes is ", r.eval.passes, ", but ", task.name, " draws no random masks"),
      "set eval.passes to 1");
  checks.require(r.train.optimizer.layer_decay == 1 || task.layer_rates,
                 {"train.optimizer.layer_decay"},
                 str("train.optimizer.layer_decay is set, but ", task.name,
                     " does not support a rate per layer"),
                 "remove it, or set rates by parameter name with train.optimizer.rate_rules");
  checks.accepts(
      {"train.checkpoint.best_metric", "train.parallelism.mesh", "train.parallelism.rules",
       "train.memory.attention_rows", "train.optimizer.eta_rules", "train.optimizer.slot_rules",
       "train.optimizer.amos_preset", "train.optimizer.rate_rules", "train.optimizer.decay_rules",
       "train.packing"},
      [&] {
        auto job = std::make_shared<train::TrainJob>(train_job(r.train, task));
        job->state_measures = r.type->generated_measures;
        train::check_packing(*job);
        if (is_deep(r)) job->on.compute->layers = model::Layers::scan;
        auto step = std::make_shared<const model::StepProgram>(
            train::training_program(*job, r.train.device));
        *r.program = facts_of(*step, r.train.batch_size);
        r.program->step = std::move(step);
        if (!r.train.checkpoint.best_metric.empty())
          train::check_best(*job,
                            model::eval_program(task, 1, model::ShardingPlan()).report.measures);
        r.program->job = std::move(job);
      });
  r.program->flops_per_example = model::training_flops(task);
}

}  // namespace smelt::pipeline
