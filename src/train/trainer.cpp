#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "data/prefetch.h"
#include "store/folder_lock.h"
#include "train/compiled_step.h"
#include "train/job_checks.h"
#include "train/job_program.h"
#include "train/resume.h"
#include "train/rewind.h"
#include "train/saver.h"
#include "train/start.h"
#include "train/stop_signal.h"
#include "train/watchdog.h"

namespace smelt {
namespace {

class Trainer {
 public:
  explicit Trainer(const TrainJob& job);
  TrainSummary run();

 private:
  void introduce() const;
  void compile();
  void begin_log();
  Batch next_batch();
  void step();
  void step_with_histograms();
  void read_report();
  [[noreturn]] void stop_at_bad_step(double loss, double norm);
  void rewind();
  void read_from(std::int64_t step);
  void pause(bool check, bool save);
  std::optional<double> check(const HostState& host);
  void tell_saved();
  void read_data();
  void take_steps();
  void run_steps();
  MemoryAdvice advice(const std::string& what) const {
    return advice_for_training(what, job_.fields);
  }

  const TrainJob& job_;
  RunLog log_;
  std::optional<FolderLock> lock_;
  std::unique_ptr<const ExampleSource> source_;
  std::shared_ptr<const Client> client_;
  nlohmann::json settings_;  // that a checkpoint must have been made with
  StepProgram program_;
  TrainSummary summary_;
  std::optional<CompiledStep> compiled_;
  std::optional<Scorer> scorer_;
  std::unique_ptr<const MaskFiller> filler_;
  std::optional<TakenWeights> taken_;  // until the state is there
  std::optional<ModelState> state_;
  std::optional<Saver> saver_;
  std::optional<Prefetch> batches_;
  std::optional<Watchdog> watchdog_;
  std::optional<Buffer> report_;  // of the newest step, not yet read
  ReportSums since_check_, last_;
  std::int64_t step_ = 0, told_saved_ = -1;
  std::int64_t steps_before_ = 0;  // of the run that the weights are of, where they count
  std::int64_t first_batch_ = 0;   // of step 0 of all
  SpikeRecord spikes_;
  std::optional<std::int64_t> spike_at_;  // the step from which to go back
};

std::shared_ptr<const Client> opened(const TrainJob& job, RunLog& log) {
  const auto opening = log.during(Spent::device);
  return open_device(job.device, static_cast<int>(job.config.devices));
}

std::int64_t parameters_of(const StateLayout& state) {
  std::int64_t count = 0;
  for (const StateTensor& t : std::span(state.tensors).first(state.values))
    count += t.shape.elements();
  return count;
}

Trainer::Trainer(const TrainJob& job)
    : job_(job),
      log_(job.task, job.track),
      source_(open_examples(
          {.input = job.data, .features = job.task.features, .seed = job.config.seed})),
      client_(opened(job, log_)),
      settings_(run_settings(job.task, job.config, *source_, job.vocab)),
      program_(training_program(job, client_->platform_name())),
      since_check_(program_.report),
      last_(program_.report) {
  settings_["precision"] =
      job.compute ? job.compute->precision : std::string(dtype_name(job.config.compute.dtype));
  check_described(job, *source_);
  if (!job.dry_run) lock_.emplace(job.model_dir, "train");
  Start start = [&] {
    const auto restoring = log_.during(Spent::restore);
    return start_of(job, program_, *client_, settings_);
  }();
  step_ = start.step;
  steps_before_ = start.steps_before;
  saver_.emplace(job, start);
  state_ = std::move(start.state);
  taken_ = std::move(start.taken);
  spikes_ = start.spikes;
  if (state_ && step_ >= job.config.schedule.total_steps) return;  // nothing will run
  if (job.overwrite) lock_->clear_folder();
  job.accepted();
  begin_log();
  compile();
}

// Before the device is busy for long.
void Trainer::introduce() const {
  spdlog::info("train: {} examples, a model ({}) of {} parameters; compiling", source_->size(),
               job_.task.name, parameters_of(program_.state));
  if (std::cmp_less(source_->epoch_size(), job_.config.batch_size))
    spdlog::warn("train: a batch of {} takes some of the {} examples several times",
                 job_.config.batch_size, source_->epoch_size());
}

void Trainer::begin_log() {
  if (job_.dry_run) return;
  const auto description = source_->description();
  const Compute compute = compute_of(job_, client_->platform_name());
  log_.begin({.folder = job_.model_dir,
              .step = step_,
              .total = job_.config.schedule.total_steps,
              .batch_size = job_.config.batch_size,
              .devices = job_.config.devices,
              .examples = source_->size(),
              .parameters = parameters_of(program_.state),
              .device_kind = client_->device_kind(),
              .products = compute.dtype,
              .exact_products = compute.exact_products,
              .settings = settings_,
              .data = description ? description->all : nlohmann::json()},
             program_.report);
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
  const auto start = Clock::now();
  if (step_ < job_.config.schedule.total_steps) {
    if (job_.validation)
      scorer_.emplace(client_, job_.task, program_.placement,
                      compute_of(job_, client_->platform_name()), *job_.validation, job_.fields);
    if (scorer_) check_data_vocabulary(settings_, scorer_->source(), "the training data");
    check_best(job_, scorer_);
    if (job_.track.filler) filler_ = job_.track.filler(client_);
    compiled_.emplace(client_, program_, advice("train: a step"));
  }
  summary_.compile_seconds = seconds_since(start);
  if (fresh.valid())
    state_.emplace(fitting(advice("train: the state"), [&] { return fresh.get(); }));
  taken_.reset();
}

Batch Trainer::next_batch() {
  const auto waiting = log_.during(Spent::input);
  return batches_->next();
}

void Trainer::step() {
  const Batch batch = next_batch();
  log_.took(batch);
  watchdog_->at(step_ + 1);
  Execution execution = compiled_->run(batch, *state_, step_ - steps_before_);
  state_->replace(execution.results);
  read_report();  // of the step before: this one is under way meanwhile
  report_.emplace(std::move(execution.results.front().back()));
  watchdog_->rest();
  ++step_;
}

// Or without, at most steps.
void Trainer::step_with_histograms() {
  if (!log_.wants_histograms(step_ + 1)) return step();
  const auto looking = log_.during(Spent::eval);
  const HostState before = state_->download();
  {
    const auto stepping = log_.during(Spent::step);
    step();
    read_report();
  }
  log_.histograms(step_, program_.state, before, state_->download());
}

// Of the newest step, which has then ended.
void Trainer::read_report() {
  if (!report_) return;
  const auto report =
      fitting(advice(str("train: step ", step_)), [&] { return report_->to_host<float>(); });
  report_.reset();
  last_.clear();
  last_.add(report);
  since_check_.add(report);
  const double loss = last_.figure("loss"), norm = last_.figure("gradient_norm");
  if (!std::isfinite(loss) || !std::isfinite(norm)) stop_at_bad_step(loss, norm);
  const Spikes& spikes = job_.config.spikes;
  if (spikes.action != SpikeAction::none && last_.figure(kSpikeFigure) > 0 &&
      spikes_.found(spikes.action, step_, loss) == SpikeAction::rewind)
    spike_at_ = step_;
  log_.step_done(step_, report);
}

// The state is still that of before the step: neither it nor those behind it have changed it.
void Trainer::stop_at_bad_step(double loss, double norm) {
  const std::int64_t before = step_ - 1;
  const auto number = static_cast<std::uint64_t>(before + first_batch_ + spikes_.gone_over());
  const auto found = keep_bad_batch(
      bad_batch_folder(job_.model_dir, step_),
      {.step = step_,
       .argument = before - steps_before_,
       .batch = source_->batch(number, job_.config.batch_size)},
      {.client = client_,
       .program = [&] { return program_of(job_, client_->platform_name(), gradient_program); },
       .state = *state_,
       .settings = settings_});
  throw SystemError(str("train: at step ", step_, " the loss is ", loss, ", the gradient's norm ",
                        norm, "; ", found),
                    saver_->what_steadies());
}

void Trainer::rewind() {
  const std::int64_t spike = *std::exchange(spike_at_, std::nullopt);
  report_.reset();
  saver_->wait();
  const Checkpoint checkpoint = smelt::rewind({.model_dir = job_.model_dir,
                                               .spike = spike,
                                               .save_every = job_.save_every,
                                               .first_step = steps_before_},
                                              spikes_);
  state_.reset();  // a device may have room for one state only
  state_ = ModelState::restore(*client_, program_.placement, program_.state, checkpoint.tensors,
                               checkpoint.path);
  step_ = checkpoint.step;
  saver_->went_back(step_);
  const std::int64_t batches = std::max(job_.config.spikes.rewind_skip, spike - step_);
  spikes_.rewound(step_, batches);
  since_check_.clear();
  read_from(step_);
  log_.went_back(step_);
  spdlog::warn("train: back to {}, over {} batches", checkpoint.path, batches);
}

void Trainer::read_from(std::int64_t step) {
  batches_.emplace(*source_, job_.config.batch_size,
                   static_cast<std::uint64_t>(step + first_batch_ + spikes_.gone_over()));
}

// Between two steps: looks at the state, tells of it and begins to save it.
void Trainer::pause(bool check_is_due, bool save_is_due) {
  if (spike_at_ || (!check_is_due && !save_is_due)) return;
  read_report();
  if (spike_at_) return;
  const auto looking = log_.during(save_is_due ? Spent::save : Spent::eval);
  saver_->wait();
  StateCopy copy = state_->start_copy();
  Saver::Kinds kinds{.regular = save_is_due};
  std::exception_ptr fault;  // of the check, which must not cost the steps before it
  if (check_is_due) try {
      kinds.best = check(copy.host());
    } catch (...) {
      fault = std::current_exception();
    }
  spikes_.put(settings_);
  if (kinds.regular || kinds.best) saver_->save(step_, std::move(copy), kinds, settings_);
  if (!fault) return;
  saver_->wait();
  std::rethrow_exception(fault);
}

// Once it is known that a save has ended well.
void Trainer::tell_saved() {
  if (saver_->saved() == told_saved_) return;
  told_saved_ = saver_->saved();
  log_.saved(told_saved_);
}

// Gives the value that is the best so far.
std::optional<double> Trainer::check(const HostState& host) {
  const auto checking = log_.during(Spent::eval);
  saver_->require_finite(step_, host);
  TrainCheck found{.first_step = summary_.first_step,
                   .step = step_,
                   .trained = since_check_.measures(),
                   .validation = {},
                   .parameters = parameter_scales(program_.state, host)};
  since_check_.clear();
  if (scorer_) try {
      found.validation = scorer_->score(*state_, step_);
    } catch (const Stopped&) {
      return std::nullopt;  // the run ends, too, and is saved
    }
  if (job_.checked) job_.checked(found);
  log_.check(found);
  if (filler_) log_.filled(step_, filler_->fill(host.tensors, "train"));
  if (!found.validation || !saver_->is_best(*found.validation)) return std::nullopt;
  return found.validation->measure(job_.keep_best).value;
}

// All that a run does up to its first check, but for its steps.
void Trainer::read_data() {
  const std::int64_t steps = std::min(job_.config.schedule.total_steps - step_,
                                      std::max<std::int64_t>(1, job_.check_every));
  const auto start = Clock::now();
  for (std::int64_t i = 0; i < steps; ++i) (void)batches_->next();
  spdlog::info("dry run: {} batches of {} examples read in {:.1f} s, nothing trained or written",
               std::max<std::int64_t>(0, steps), job_.config.batch_size, seconds_since(start));
  if (!scorer_) return;
  scorer_->read();
  spdlog::info("dry run: {} batches of the validation read", scorer_->batches());
}

void Trainer::take_steps() {
  const std::int64_t last = job_.config.schedule.total_steps;
  while (step_ < last && !StopSignal::raised()) {
    step_with_histograms();
    saver_->look();
    lock_->require_held();
    if (step_ == last) read_report();
    const bool check_is_due =
        job_.check_every > 0 && (step_ % job_.check_every == 0 || step_ == last);
    pause(check_is_due, saver_->is_due(step_));
    tell_saved();
    if (spike_at_) rewind();
  }
}

void Trainer::run_steps() {
  const std::int64_t last = job_.config.schedule.total_steps;
  const StopSignal stop;
  watchdog_.emplace(std::chrono::duration<double>(60 * job_.hang_minutes));
  told_saved_ = saver_->saved();
  log_.ready();
  const bool rewinds = job_.config.spikes.action == SpikeAction::rewind;
  if ((job_.save_first || rewinds) && saver_->newest() < 0) pause(false, true);
  take_steps();
  pause(false, saver_->newest() != step_);
  if (spike_at_) rewind();  // found in the last step before a signal
  {
    const auto saving = log_.during(Spent::save);
    saver_->finish();
  }
  tell_saved();
  log_.end(step_, step_ < last ? "stopped" : "done");
  if (step_ < last)
    throw Stopped(str("train: stopped by a signal at step ", step_, " of ", last, "; saved"),
                  "run the same command again to go on from there");
}

TrainSummary Trainer::run() try {
  summary_.first_step = step_;
  first_batch_ = job_.replay_data ? -step_ : -steps_before_;
  read_from(step_);
  if (job_.dry_run) {
    read_data();
    return summary_;
  }
  run_steps();
  summary_.last_step = step_;
  summary_.train_seconds = log_.seconds();
  summary_.sequences_per_second =
      static_cast<double>((step_ - summary_.first_step) * job_.config.batch_size) /
      summary_.train_seconds;
  if (last_.batches() > 0) {
    for (const std::string& name : program_.report.figures)
      summary_.last[name] = last_.figure(name);
    for (const MeasuredValue& m : last_.measures()) summary_.last[m.name] = m.value;
  }
  return summary_;
} catch (const Stopped&) {
  throw;
} catch (const std::exception& error) {
  log_.end(step_, "failed", error.what());
  throw;
}

}  // namespace

TrainSummary train(const TrainJob& job) {
  const TrainSummary s = Trainer(job).run();
  if (s.last_step > s.first_step)
    spdlog::info(
        "train: {} steps in {} ({:.1f} sequences/s, padding counted), compiled in {:.1f} s; the "
        "model is in {}",
        s.last_step - s.first_step, duration_text(s.train_seconds), s.sequences_per_second,
        s.compile_seconds, job.model_dir);
  return s;
}

}  // namespace smelt
