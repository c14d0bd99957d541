// What is there before a run's first step.
#include <spdlog/spdlog.h>

#include <future>
#include <utility>

#include "base/clock.h"
#include "base/words.h"
#include "checkpoint/layout.h"
#include "data/description.h"
#include "state/resume.h"
#include "store/path.h"
#include "train/job_checks.h"
#include "train/job_program.h"
#include "train/rewind.h"
#include "train/start.h"
#include "train/training_run.h"

namespace smelt {
namespace {

std::shared_ptr<const Client> opened(const TrainJob& job, RunLog& log) {
  const auto opening = log.during(Spent::device);
  return open_device(job.on.device, static_cast<int>(job.on.devices));
}

// The run goes on from an older checkpoint of its own than the newest.
void leave_the_way_behind(const std::string& model_dir, std::int64_t from) {
  for (const std::int64_t step : remove_later_checkpoints(model_dir, from))
    spdlog::warn("train: the checkpoint of step {} is removed: the run goes on from step {}", step,
                 from);
}

// The run's own mesh, over which a model may lie that one device has no room for. Of replicas each
// device holds all of it.
Placement sampling_placement(const OpenedRun& run) {
  if (run.program.placement.replicas() > 1) return {};
  Placement out = run.program.placement;
  out.partition.names = run.job.task.dim_names;
  return out;
}

RunPrograms compiled_programs(const OpenedRun& run) {
  const TrainJob& job = run.job;
  std::optional<Scorer> scorer;
  if (job.validation)
    scorer.emplace(run.client, job.task, run.program.placement, run.compute(), *job.validation,
                   job.fields);
  if (scorer) check_data_vocabulary(run.settings, scorer->source(), "the training data");
  check_best(job, scorer ? scorer->program().report.measures : std::vector<ReportedMeasure>());
  auto measures = scorer && job.make_state_measures ? job.make_state_measures(run.client) : nullptr;
  auto sampler =
      job.track.sampler ? job.track.sampler(run.client, sampling_placement(run)) : nullptr;
  StepPrograms step(run.client, job, run.program, run.advice("train: a step"));
  std::optional<GradientValues> gradients;
  if (job.track.gradient_histograms && job.track.histograms_every > 0)
    gradients.emplace(run.client, job, step.held());
  return {.scorer = std::move(scorer),
          .measures = std::move(measures),
          .sampler = std::move(sampler),
          .gradients = std::move(gradients),
          .step = std::move(step)};
}

}  // namespace

std::shared_ptr<const ExampleSource> open_training_data(const TrainJob& job) {
  return open_examples({.input = job.data,
                        .features = job.task.features,
                        .seed = job.config.seed,
                        .kind = job.task.record_kind,
                        .foreign = job.task.foreign,
                        .windows = job.task.windows,
                        .lengths = job.task.lengths,
                        .tokens = job.task.tokens});
}

OpenedRun::OpenedRun(const TrainJob& of)
    : job(of),
      log(job.task, job.track),
      source(job.source ? job.source : open_training_data(job)),
      client(opened(job, log)),
      settings(settings_of(job, *source)),
      program(training_program(job, client->platform_name())),
      watchdog(std::chrono::duration<double>(60 * job.hang_minutes), job.fields("hang_minutes")) {
  warn_of_settings(job);
  check_described(job, *source);
  check_memory(program, client->platform_name());
  check_weights_stay(job.init, job.model_dir, job.overwrite);
  if (job.dry_run) return;
  lock.emplace(job.model_dir, "train");
  take_back_checkpoints(job.model_dir);
  for (const char* place : {"save", "best"}) take_back_checkpoints(join_path(job.model_dir, place));
}

Compute OpenedRun::compute() const { return compute_of(job, client->platform_name()); }

void accept(OpenedRun& run, const Start& start) {
  const TrainJob& job = run.job;
  if (job.overwrite && run.lock) {
    check_no_model_below(job.model_dir);
    run.lock->clear_folder();
  }
  job.accepted();
  if (job.dry_run) return;
  if (!job.resume_from.empty()) leave_the_way_behind(job.model_dir, start.step);
  const auto description = run.source->description();
  const Compute compute = run.compute();
  run.log.begin({.folder = job.model_dir,
                 .step = start.step,
                 .total = run.last_step(),
                 .batch_size = job.config.batch_size,
                 .devices = job.on.devices,
                 .examples = run.source->size(),
                 .parameters = run.program.state.parameters(),
                 .device_kind = run.client->device_kind(),
                 .products = compute.dtype,
                 .exact_products = compute.exact_products,
                 .settings = run.settings,
                 .data = description ? description->all : nlohmann::json()},
                run.program.report);
}

PreparedRun prepare(OpenedRun& run, Start& start) {
  const TrainJob& job = run.job;
  const std::string form = form_text(job, run.client->platform_name());
  spdlog::info("train: {}, a model ({}) of {}; compiling{}{}",
               counted(run.source->size(), "example"), job.task.name,
               counted(run.program.state.parameters(), "parameter"), form.empty() ? "" : ", ",
               form);
  std::future<ModelState> fresh;  // drawn meanwhile
  if (!start.state)
    fresh = std::async(std::launch::async, [&] {
      return ModelState::fresh(*run.client, run.program.placement, run.program.state,
                               job.config.seed,
                               start.taken ? start.taken->parameters : TensorMap());
    });
  const auto compiling = run.log.during(Spent::compile);
  std::optional<Watchdog::Watch> watch(std::in_place, &run.watchdog, "compiling", WorkOf::compiler);
  const auto begin = Clock::now();
  std::optional<RunPrograms> programs;
  if (start.has_work(job)) programs.emplace(compiled_programs(run));
  const double seconds = seconds_since(begin);
  watch.emplace(&run.watchdog, "putting the first state on the devices");
  PreparedRun prepared{
      .state = start.state ? *std::move(start.state)
                           : fitting(run.advice("train: the state"), [&] { return fresh.get(); }),
      .programs = std::move(programs),
      .compile_seconds = seconds};
  start.taken.reset();
  return prepared;
}

}  // namespace smelt
