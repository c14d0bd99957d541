#include "train/job_program.h"

#include "base/error.h"
#include "state/state_copy.h"
#include "store/folder.h"

namespace smelt {

Compute compute_of(const TrainJob& job, std::string_view platform) {
  return job.on.compute ? compute_for(platform, *job.on.compute, job.fields) : job.config.compute;
}

StepProgram program_of(const TrainJob& job, std::string_view platform,
                       decltype(&train_program) program) {
  TrainingConfig config = job.config;
  config.compute = compute_of(job, platform);
  config.devices = job.on.devices;
  return program(job.task, config,
                 placement_for(platform, job.on.devices, config.reduction,
                               partition_for(job.on.mesh, job.on.devices, job.fields)));
}

StepProgram training_program(const TrainJob& job, std::string_view platform) {
  return program_of(job, platform, train_program);
}

GradientReport replay(const TrainJob& job, const std::string& folder) {
  if (!exists(folder))
    throw UsageError(str("replay: ", folder, " is not there"),
                     "give the bad-batch folder of this model");
  const TrainedModel model =
      load_trained_model("replay", folder, job.task.settings.value("model", nlohmann::json()),
                         job.vocab, false, job.fields);
  const BadBatch bad = bad_batch_in(model, job.task.features);
  TrainJob same = job;
  same.config.batch_size = bad.batch.rows;
  const auto client = open_device(job.on.device, static_cast<int>(job.on.devices));
  const StepProgram program = program_of(same, client->platform_name(), gradient_program);
  GradientReport report =
      gradient_report(client, program, bad,
                      ModelState::restore(*client, program.placement, program.state,
                                          model.checkpoint.tensors, model.where));
  report.bad_value = first_not_finite({.tensors = model.checkpoint.tensors, .memory = {}});
  return report;
}

}  // namespace smelt
