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

}  // namespace

std::shared_ptr<const ExampleSource> open_training_data(const TrainJob& job) {
  return open_examples({.input = job.data,
                        .features = job.task.features,
                        .seed = job.config.seed,
                        .kind = job.task.record_kind,
                        .foreign = job.task.foreign});
}

Trainer::Trainer(const TrainJob& job)
    : job_(job),
      log_(job.task, job.track),
      source_(job.source ? job.source : open_training_data(job)),
      client_(opened(job, log_)),
      settings_(settings_of(job, *source_)),
      program_(training_program(job, client_->platform_name())),
      since_check_(program_.report),
      last_(program_.report) {
  warn_of_settings(job);
  check_described(job, *source_);
  check_memory(program_, client_->platform_name());
  if (!job.dry_run) {
    lock_.emplace(job.model_dir, "train");
    take_back_checkpoints(job.model_dir);
    for (const char* place : {"save", "best"})
      take_back_checkpoints(join_path(job.model_dir, place));
  }
  Start start = [&] {
    const auto restoring = log_.during(Spent::restore);
    return start_of(job, program_, *client_, settings_);
  }();
  step_ = start.step;
  steps_before_ = start.steps_before;
  watchdog_.emplace(std::chrono::duration<double>(60 * job.hang_minutes),
                    job.fields("hang_minutes"));
  saver_.emplace(job, start, lock_ ? &*lock_ : nullptr);
  state_ = std::move(start.state);
  taken_ = std::move(start.taken);
  spikes_ = start.spikes;
  unchecked_ = start.unchecked;
  if (state_ && !unchecked_ && step_ >= job.config.schedule.total_steps) return;  // nothing to do
  compile();  // what cannot be trained removes and leaves nothing
  if (job.overwrite) {
    check_no_model_below(job.model_dir);
    lock_->clear_folder();
  }
  job.accepted();
  if (!job.resume_from.empty() && !job.dry_run) leave_the_way_behind();
  begin_log();
}

// The run goes on from an older checkpoint of its own than the newest.
void Trainer::leave_the_way_behind() const {
  for (const std::int64_t step : remove_later_checkpoints(job_.model_dir, step_))
    spdlog::warn("train: the checkpoint of step {} is removed: the run goes on from step {}", step,
                 step_);
}

// Before the device is busy for long.
void Trainer::introduce() const {
  spdlog::info("train: {}, a model ({}) of {}; compiling", counted(source_->size(), "example"),
               job_.task.name, counted(program_.state.parameters(), "parameter"));
}

void Trainer::begin_log() {
  if (job_.dry_run) return;
  const auto description = source_->description();
  const Compute compute = compute_of(job_, client_->platform_name());
  log_.begin({.folder = job_.model_dir,
              .step = step_,
              .total = job_.config.schedule.total_steps,
              .batch_size = job_.config.batch_size,
              .devices = job_.on.devices,
              .examples = source_->size(),
              .parameters = program_.state.parameters(),
              .device_kind = client_->device_kind(),
              .products = compute.dtype,
              .exact_products = compute.exact_products,
              .settings = settings_,
              .data = description ? description->all : nlohmann::json()},
             program_.report);
}

// The run's own mesh, over which a model may lie that one device has no room for. Of replicas each
// device holds all of it.
Placement Trainer::filling_placement() const {
  if (program_.placement.replicas() > 1) return {};
  Placement out = program_.placement;
  out.partition.names = job_.task.dim_names;
  return out;
}

// A new model's weights are drawn meanwhile.
void Trainer::compile() {
  introduce();
  std::future<ModelState> fresh;
  if (!state_)
    fresh = std::async(std::launch::async, [this] {
      return ModelState::fresh(*client_, program_.placement, program_.state, job_.config.seed,
                               taken_ ? taken_->parameters : TensorMap());
    });
  const auto compiling = log_.during(Spent::compile);
  std::optional<Watchdog::Watch> watch(std::in_place, &*watchdog_, "compiling", WorkOf::compiler);
  const auto start = Clock::now();
  if (step_ < job_.config.schedule.total_steps || unchecked_) {
    if (job_.validation)
      scorer_.emplace(client_, job_.task, program_.placement,
                      compute_of(job_, client_->platform_name()), *job_.validation, job_.fields);
    if (scorer_) check_data_vocabulary(settings_, scorer_->source(), "the training data");
    check_best(job_, scorer_);
    if (job_.track.filler) filler_ = job_.track.filler(client_, filling_placement());
    if (job_.track.gradient_histograms && job_.track.histograms_every > 0)
      gradients_.emplace(client_, job_);
    compiled_.emplace(client_, program_, advice("train: a step"));
  }
  summary_.compile_seconds = seconds_since(start);
  watch.emplace(&*watchdog_, "putting the first state on the devices");
  if (fresh.valid())
    state_.emplace(fitting(advice("train: the state"), [&] { return fresh.get(); }));
  taken_.reset();
}

}  // namespace smelt
