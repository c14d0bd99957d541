// The phases of a training run before its first step.

#include <future>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/storage/layout.h"
#include "data/input_pipeline/description.h"
#include "execution/train_state/held_slices.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "model/train_step/model_flops.h"
#include "train/initial_state.h"
#include "train/job_checks.h"
#include "train/job_program.h"
#include "train/memory_variant.h"
#include "train/packing_plan.h"
#include "train/rewind.h"
#include "train/training_run.h"

namespace smelt::train {
namespace {

std::shared_ptr<const pjrt::Client> opened(const TrainJob& job, RunLog& log) {
  const auto opening = log.during(evaluation::GoodputBucket::device);
  job.together.set_status("opening the device");
  return pjrt::open_device(job.on.device, static_cast<int>(job.on.devices));
}

// Throws UsageError unless as many processes were started as the device has, and the run uses the
// devices of all of them.
void check_processes(const TrainJob& job, const pjrt::Client& client) {
  const int processes = client.process_count(), size = job.together.size;
  if (size > 1 && processes == size && job.on.devices != client.device_count())
    throw UsageError(str("train: ", job.fields("devices"), " is ", job.on.devices, ", the ", size,
                         " processes of this run have ", counted(client.device_count(), "device")),
                     str("set it to ", client.device_count()));
  if (processes == size) return;
  throw UsageError(str("train: ", counted(size, "process", "processes"),
                       size == 1 ? " was started, but device " : " were started, but device ",
                       job.on.device, " has ", counted(processes, "process", "processes")),
                   "start one process for each host of the device");
}

constexpr std::string_view kSameFiles = "start the same command with the same files on all hosts";

// Checks that all processes run the same program on the same data.
void check_alike(const OpenedRun& run) {
  const ProcessGroup& together = run.job.together;
  together.require_equal("steps", "train",
                         {{"train.steps", run.recorded_steps()}, {"train.length", run.job.seconds}},
                         kSameFiles);
  together.require_equal("settings", "train", run.settings, kSameFiles);
  if (!together.several()) return;
  together.require_equal(
      "program", "train",
      {{"the step's program, by its crc32c",
        io::hex_text(io::crc32c(compiler::emit_module(run.program.program, "step")))},
       {"the plugin", run.client->platform_version()}},
      kSameFiles);
}

void lock_folder(OpenedRun& run) {
  const std::string& folder = run.job.model_dir;
  run.job.together.broadcast("lock", [&] {
    run.lock.emplace(folder, "train");
    checkpoint::take_back_checkpoints(folder);
    for (const char* place : {"save", "best"})
      checkpoint::take_back_checkpoints(io::join_path(folder, place));
    return std::string();
  });
  run.job.together.require_one_folder(folder);
}

// Removes later checkpoints of a run that continues from an older one.
void remove_newer_checkpoints(const OpenedRun& run, std::int64_t from) {
  const std::string& model_dir = run.job.model_dir;
  run.lock->require_held_now();
  for (const std::int64_t step : remove_later_checkpoints(model_dir, from))
    log_warning("train: removed the checkpoint of step {}: the run continues from step {}", step,
                from);
}

// Returns the placement for sample predictions: the run's mesh, since the model may not fit on one
// device; or one device, if each device holds a replica.
model::ShardingPlan sampling_placement(const OpenedRun& run) {
  if (run.program.placement.replicas() > 1) return {};
  model::ShardingPlan out = run.program.placement;
  out.partition.names = run.job.task.dim_names;
  return out;
}

StepPrograms compiled_steps(const OpenedRun& run) try {
  return {run.client, run.job, run.program, run.packing, run.advice("train: a step")};
} catch (const execution::ProgramDoesNotFit& error) {
  throw StepDoesNotFit(error);
}

RunPrograms compiled_programs(const OpenedRun& run) {
  const TrainJob& job = run.job;
  std::optional<execution::Scorer> scorer;
  if (job.validation)
    scorer.emplace(run.client, job.task, run.program.placement, run.compute(), *job.validation,
                   job.fields, job.together.several());
  if (scorer) execution::check_data_vocabulary(run.settings, scorer->source(), "the training data");
  check_best(job,
             scorer ? scorer->program().report.measures : std::vector<model::ReportedMeasure>());
  if (job.together.several() && job.make_state_measures)
    throw UsageError("train: evaluation of generated text runs in one process only",
                     "train this task with one process");
  auto measures = scorer && job.make_state_measures ? job.make_state_measures(run.client) : nullptr;
  // A single process may not have enough memory for the model.
  auto sampler = job.track.sampler && !job.together.several()
                     ? job.track.sampler(run.client, sampling_placement(run))
                     : nullptr;
  StepPrograms step = compiled_steps(run);
  std::optional<GradientValues> gradients;
  if (job.track.gradient_histograms && job.track.histograms_every > 0 && !job.together.several())
    gradients.emplace(run.client, job, step.held());
  std::optional<Pruner> pruner;
  if (job.config.pruning.any())
    pruner.emplace(run.client, run.program, job.config.pruning, run.advice("train: pruning"));
  return {.scorer = std::move(scorer),
          .measures = std::move(measures),
          .sampler = std::move(sampler),
          .gradients = std::move(gradients),
          .pruner = std::move(pruner),
          .step = std::move(step)};
}

}  // namespace

std::shared_ptr<const data::ExampleSource> open_training_data(const TrainJob& job) {
  return data::open_examples({.input = job.data,
                              .features = job.task.features,
                              .seed = job.config.seed,
                              .kind = job.task.record_kind,
                              .foreign = job.task.foreign,
                              .windows = job.task.windows,
                              .lengths = job.task.lengths,
                              .tokens = job.task.tokens});
}

OpenedRun::OpenedRun(const TrainJob& of, std::shared_ptr<TrainingClock> of_job)
    : job(of),
      clock(std::move(of_job)),
      log(job.task, job.track),
      source(job.source ? job.source : open_training_data(job)),
      client(opened(job, log)),
      settings(settings_of(job, *source)),
      program(training_program(job, client->platform_name())),
      watchdog(std::chrono::duration<double>(60 * job.hang_minutes), job.fields("hang_minutes"),
               job.together.end_all) {
  warn_of_settings(job);
  check_described(job, *source);
  check_memory(program, client->platform_name());
  check_weights_stay(job.init, job.model_dir, job.overwrite);
  check_processes(job, *client);
  check_alike(*this);
  if (!job.dry_run) lock_folder(*this);
}

CheckpointManager OpenedRun::saver(const InitialState& start) const {
  if (!job.together.several()) return {job, start, &*lock};
  return {job, start, lock ? &*lock : nullptr,
          execution::held_slices(program.state, program.placement, *client),
          client->process_index()};
}

std::string OpenedRun::step_text(std::int64_t step) const {
  return clock ? str(step, ", ", clock->progress_text(step)) : str(step, " of ", last_step());
}

data::PrefetchOptions OpenedRun::prefetch() const {
  return {.share = execution::own_share(program.placement, *client), .packing = packing};
}

model::ComputePolicy OpenedRun::compute() const { return compute_of(job, client->platform_name()); }

void restore_kept_states(OpenedRun& run, InitialState& start) {
  start.best = restore_kept_states(run.job,
                                   {.step = start.step,
                                    .first_step = start.steps_before,
                                    .best = start.best,
                                    .records_best = start.records_best},
                                   run.lock ? &*run.lock : nullptr, "kept");
}

// Decides how the run packs its batches, and checks that all processes do the same.
static void decide_packing(OpenedRun& run) {
  const TrainJob& job = run.job;
  if (job.config.packing == model::PackingMode::off) return;
  const auto reading = run.log.during(evaluation::GoodputBucket::input);
  job.together.set_status("reading the lengths of examples");
  const Watchdog::Watch watch(&run.watchdog, "reading the lengths of examples", WorkOf::store);
  const PackingChoice choice = choose_packing(job, *run.source, run.program.placement.row_shards());
  log_info("train: packing {}", choice.reason);
  run.packing = choice.plan;
  const std::int64_t rows = run.packing ? run.packing->rows : 0;
  const std::uint32_t crc = run.packing ? run.packing->lengths_crc : 0;
  job.together.require_equal("packing", "train",
                             {{"rows of a packed step", rows},
                              {"lengths of the examples, by their crc32c", io::hex_text(crc)}},
                             kSameFiles);
}

static double flops_per_example(const OpenedRun& run) {
  const model::Task& task = run.job.task;
  if (!run.packing) return model::training_flops(task);
  return model::training_flops(model::packed_task(task, run.packing->slots()),
                               run.packing->shard_size());
}

void accept(OpenedRun& run, InitialState& start) {
  const TrainJob& job = run.job;
  job.together.broadcast("accepted", [&] {
    if (job.overwrite && run.lock) {
      check_no_model_below(job.model_dir);
      run.lock->clear_folder();
    }
    job.accepted();
    if (!job.dry_run && !job.resume_from.empty()) remove_newer_checkpoints(run, start.step);
    return std::string();
  });
  if (job.dry_run) return;
  if (start.is_saved()) restore_kept_states(run, start);
  const auto description = run.source->description();
  const model::ComputePolicy compute = run.compute();
  run.log.begin({.folder = job.together.leads() ? job.model_dir : "",
                 .step = start.step,
                 .total = run.recorded_steps(),
                 .batch_size = job.config.batch_size,
                 .devices = job.on.devices,
                 .examples = run.source->size(),
                 .parameters = run.program.state.parameters(),
                 .flops_per_example = flops_per_example(run),
                 .device_kind = run.client->device_kind(),
                 .products = compute.dtype,
                 .exact_products = compute.exact_products,
                 .settings = run.settings,
                 .data = description ? description->all : Json(),
                 .clock = run.clock},
                run.program.report);
}

PreparedRun prepare(OpenedRun& run, InitialState& start) {
  const TrainJob& job = run.job;
  if (start.has_work(job)) decide_packing(run);
  const std::string form = layer_choice_text(job, run.client->platform_name());
  log_info("train: {}, a model ({}) of {}; compiling{}{}",
           counted(run.source->epoch_size(), "example"), job.task.name,
           counted(run.program.state.parameters(), "parameter"), form.empty() ? "" : ", ", form);
  std::future<execution::ModelState> fresh;  // initialized during compilation
  if (!start.state)
    fresh = std::async(std::launch::async, [&] {
      return execution::ModelState::fresh(*run.client, run.program.placement, run.program.state,
                                          job.config.seed,
                                          start.taken ? start.taken->parameters : io::TensorMap());
    });
  const auto compiling = run.log.during(evaluation::GoodputBucket::compile);
  job.together.set_status("compiling");
  std::optional<Watchdog::Watch> watch(std::in_place, &run.watchdog, "compiling", WorkOf::compiler);
  const auto begin = Clock::now();
  std::optional<RunPrograms> programs;
  if (start.has_work(job)) programs.emplace(compiled_programs(run));
  const double seconds = seconds_since(begin);
  watch.emplace(&run.watchdog, "copying the initial state to the devices");
  PreparedRun prepared{.state = start.state ? *std::move(start.state)
                                            : execution::fitting(run.advice("train: the state"),
                                                                 [&] { return fresh.get(); }),
                       .programs = std::move(programs),
                       .compile_seconds = seconds};
  start.taken.reset();
  return prepared;
}

}  // namespace smelt::train
