#include "train/evaluate.h"

namespace smelt {

Evaluator::Evaluator(const EvaluateJob& job)
    : client_(open_device(job.device, static_cast<int>(job.devices))) {
  const auto platform = client_->platform_name();
  scorer_ = std::make_unique<Scorer>(
      client_, job.task,
      placement_for(platform, job.devices, Reduction::global,
                    partition_for(job.mesh, job.devices, job.fields)),
      compute_for(platform, job.compute, job.fields),
      HeldOut{
          .data = job.data, .batch_size = job.batch_size, .steps = job.steps, .passes = job.passes},
      job.fields);
}

Evaluation Evaluator::operator()(const TrainedModel& model) const {
  const StepProgram& program = scorer_->program();
  const auto& [checkpoint, where] = model;
  const ModelState state = fitting(scorer_->advice("eval: the model"), [&] {
    return ModelState::restore(*client_, program.placement, program.state, checkpoint.tensors,
                               where);
  });
  return scorer_->score(state, checkpoint.step);
}

Evaluation evaluate(const EvaluateJob& job) {
  const TrainedModel model =
      load_trained_model("eval", job.model_dir, job.task.settings.value("model", nlohmann::json()),
                         job.vocab, job.averaged);
  const Evaluator evaluator(job);
  evaluator.scorer().announce();
  return evaluator(model);
}

}  // namespace smelt
