#include "train/job_program.h"

#include <algorithm>

#include "base/error.h"
#include "execution/train_state/state_copy.h"
#include "io/filesystem/folder.h"

namespace smelt::train {

namespace {

// Minimum number of steps for which layers are unrolled. On a TPU each unrolled layer adds 5 s to
// the compilation. According to the compiler's schedule it saves 0.4 ms per step on v5e and 2 ms on
// v2, so unrolling pays off after about 12,000 and 2,500 steps
// (docs/explanation/performance-history.md).
constexpr std::int64_t kManySteps = 10'000;
constexpr double kLongRun = 3600;         // seconds, for a run whose number of steps is unknown
constexpr std::int64_t kManyLayers = 48;  // more unrolled layers take minutes to compile

// Returns the number of layers of the deepest stack, or 0 if the settings do not contain it. They
// do not for an ELECTRA model selected by size, which has at most 24 layers.
std::int64_t layers_of(const model::Task& task) {
  const Json model = task.settings.value("model", Json::object());
  std::int64_t most = 0;
  for (const char* name : {"num_hidden_layers", "num_layers", "num_decoder_layers"})
    if (const auto found = model.find(name); found != model.end() && found->is_number_integer())
      most = std::max(most, found->get<std::int64_t>());
  return most;
}

// Returns whether the mesh shards parameters. A scan then gathers the parameters of one layer at a
// time.
bool splits_parameters(const TrainJob& job) {
  const model::PartitionRules mesh = model::partition_for(job.on.mesh, job.on.devices, job.fields);
  return mesh.size("fsdp") > 1 || mesh.size("tensor") > 1;
}

bool is_worth_unrolling(const TrainJob& job) {
  const bool is_long =
      job.seconds > 0 ? job.seconds >= kLongRun : job.config.schedule.total_steps >= kManySteps;
  return is_long && layers_of(job.task) <= kManyLayers && !splits_parameters(job);
}

}  // namespace

model::ComputePolicy compute_of(const TrainJob& job, std::string_view platform) {
  if (!job.on.compute) return job.config.compute;
  model::ComputeOptions choice = *job.on.compute;
  const bool open = !choice.layers &&
                    choice.save.value_or(compiler::RematPolicy::all) == compiler::RematPolicy::all;
  if (open && platform == "tpu" && is_worth_unrolling(job)) choice.layers = model::Layers::unrolled;
  return model::compute_for(platform, choice, job.fields);
}

std::string layer_choice_text(const TrainJob& job, std::string_view platform) {
  const bool open = job.on.compute && !job.on.compute->layers;
  if (platform != "tpu" || !open) return "";
  return compute_of(job, platform).layers == model::Layers::unrolled
             ? str("layers unrolled, because ",
                   job.seconds > 0 ? std::string("many") : str(job.config.schedule.total_steps),
                   " faster steps outweigh a longer compilation")
             : "layers in a loop";
}

model::StepProgram program_of(const TrainJob& job, std::string_view platform,
                              decltype(&model::train_program) program) {
  model::TrainingConfig config = job.config;
  config.compute = compute_of(job, platform);
  config.devices = job.on.devices;
  config.takes_wishes = job.together.several();
  return program(
      job.task, config,
      model::placement_for(platform, job.on.devices, config.reduction,
                           model::partition_for(job.on.mesh, job.on.devices, job.fields)));
}

model::StepProgram training_program(const TrainJob& job, std::string_view platform) {
  return program_of(job, platform, model::train_program);
}

GradientReport replay(const TrainJob& job, const std::string& folder) {
  if (!io::exists(folder))
    throw UsageError(str("replay: ", folder, " does not exist"),
                     "pass the bad-batch folder of this model");
  const execution::TrainedModel model = execution::load_trained_model(
      "replay", folder, job.task.settings.value("model", Json()), job.vocab, false, job.fields);
  const BadBatch bad = bad_batch_in(model, job.task.features);
  TrainJob same = job;
  same.config.batch_size = bad.batch.rows;
  const auto client = pjrt::open_device(job.on.device, static_cast<int>(job.on.devices));
  const model::StepProgram program =
      program_of(same, client->platform_name(), model::gradient_program);
  GradientReport report =
      gradient_report(client, program, bad,
                      execution::ModelState::restore(*client, program.placement, program.state,
                                                     model.checkpoint.tensors, model.where));
  report.bad_value =
      execution::first_not_finite({.tensors = model.checkpoint.tensors, .memory = {}});
  return report;
}

}  // namespace smelt::train
