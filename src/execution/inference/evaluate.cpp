#include "execution/inference/evaluate.h"

#include "base/log.h"
#include "execution/train_state/initial_weights.h"

namespace smelt::execution {

Evaluator::Evaluator(const EvaluateJob& job)
    : gelu_(gelu_of_task(job.task.settings)),
      client_(pjrt::open_device(job.on.device, static_cast<int>(job.on.devices))) {
  const auto platform = client_->platform_name();
  scorer_ = std::make_unique<Scorer>(
      client_, job.task,
      model::placement_for(platform, job.on.devices, model::Reduction::global,
                           model::partition_for(job.on.mesh, job.on.devices, job.fields)),
      model::compute_for(platform, job.on.compute.value_or(model::ComputeOptions()), job.fields),
      HeldOut{.data = job.data,
              .batch_size = job.batch_size,
              .steps = job.steps,
              .passes = job.passes,
              .as_original = job.as_original,
              .repeats = job.repeats},
      job.fields);
}

Evaluation Evaluator::operator()(const TrainedModel& model) const {
  const model::StepProgram& program = scorer_->program();
  const auto& [checkpoint, where] = model;
  check_data_vocabulary(checkpoint.state, scorer_->source(), where);
  const ModelState state = fitting(scorer_->advice("eval: the model"), [&] {
    return ModelState::restore(*client_, program.placement, program.state, checkpoint.tensors,
                               where);
  });
  return scorer_->score(state, checkpoint.step);
}

Evaluation Evaluator::evaluate_pretrained(const std::string& init) const {
  constexpr std::uint64_t kSeed = 12345;
  const model::StepProgram& program = scorer_->program();
  const InitialWeights taken = take_weights(program.state, checkpoint::load_weights(init, gelu_),
                                            [](std::string_view) { return false; });
  log_info("{}", table_of(taken));
  const ModelState state = fitting(scorer_->advice("eval: the model"), [&] {
    return ModelState::fresh(*client_, program.placement, program.state, kSeed, taken.parameters);
  });
  return scorer_->score(state, 0);
}

Evaluation evaluate(const EvaluateJob& job) {
  if (!job.init.empty() && !checkpoint::latest_checkpoint(job.model_dir)) {
    const Evaluator evaluator(job);
    evaluator.scorer().announce();
    return evaluator.evaluate_pretrained(job.init);
  }
  const TrainedModel model =
      load_trained_model("eval", job.model_dir, job.task.settings.value("model", Json()), job.vocab,
                         job.averaged, job.fields);
  const Evaluator evaluator(job);
  evaluator.scorer().announce();
  return evaluator(model);
}

}  // namespace smelt::execution
