#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "model/nn/state_names.h"
#include "train/bad_batch.h"
#include "train/initial_state.h"
#include "train/job_program.h"
#include "train/program_cost.h"
#include "train/rewind.h"
#include "train/training_run.h"

namespace smelt::train {

Trainer::Trainer(OpenedRun& run, const InitialState& start, PreparedRun& prepared)
    : run_(run),
      job_(run.job),
      log_(run.log),
      programs_(prepared.programs.value()),
      first_step_(start.step),
      numbers_(run.job, start),
      state_(std::move(prepared.state)),
      spikes_(start.spikes),
      position_(start.step, start.unchecked),
      saver_(run.saver(start)),
      batches_(batches_from(start.step)),
      since_check_(run.program.report),
      last_(run.program.report),
      logged_save_(saver_.saved()) {
  note_since_best(start.since_best);
  if (run.clock) run.clock->start(start.step, start.trained_seconds);
}

void Trainer::note_since_best(std::int64_t evaluations) {
  since_best_ = evaluations;
  if (job_.early_stopping.patience > 0) run_.settings[kSinceBest] = since_best_;
}

std::unique_ptr<data::Prefetch> Trainer::batches_from(std::int64_t step) const {
  return std::make_unique<data::Prefetch>(*run_.source, job_.config.batch_size,
                                          numbers_.batch_after(step, spikes_), run_.prefetch());
}

data::Batch Trainer::next_batch() {
  const auto waiting = log_.during(evaluation::GoodputBucket::input);
  job_.together.set_status(str("the batch of step ", position_.step() + 1));
  const Watchdog::Watch watch(
      &run_.watchdog, str("waiting for the batch of step ", position_.step() + 1), WorkOf::store);
  return batches_->next();
}

// Returns the next batch. If it cannot be read, saves the state before rethrowing the error, so
// that no steps are lost. Does not save in a multi-process run: the other processes have already
// started the step and cannot take part, and the error ends all processes.
data::Batch Trainer::next_batch_or_save() try {
  return next_batch();
} catch (const std::exception&) {
  if (job_.together.several()) throw;
  check_and_save({.save = saver_.newest() != position_.step()});
  wait_for_save();
  throw;
}

// Returns this process's requests; signals and elapsed time differ between processes.
model::ConsensusFlags Trainer::wishes() const {
  const ProcessGroup& together = job_.together;
  if (!together.several()) return {};
  return {.stop = StopSignal::raised(), .save = together.leads() && saver_.is_due_by_time()};
}

bool Trainer::is_to_stop() const {
  return job_.together.several() ? stop_requested_ : StopSignal::raised();
}

void Trainer::prune(std::int64_t steps_done) {
  if (!programs_.pruner) return;
  const auto due = programs_.pruner->due(steps_done);
  if (!due || due == pruned_at_) return;
  read_report();  // throws after a non-finite step, before its state is pruned
  programs_.pruner->prune(*due, *due != steps_done, state_);
  pruned_at_ = due;
}

void Trainer::step(const data::Batch& batch) {
  log_.batch_started(batch);
  run_.watchdog.at(position_.step() + 1);
  job_.together.set_status(str("step ", position_.step() + 1));
  const std::int64_t done = numbers_.argument(position_.step());
  prune(done);
  pjrt::Execution execution = programs_.step.run(batch, state_, done, wishes());
  state_.replace(execution.results);
  run_.watchdog.rest();
  read_report();  // of the previous step; this one is already running
  report_.emplace(std::move(execution.results.front().back()));
  position_.started();
}

void Trainer::step_with_histograms(const data::Batch& batch) {
  const auto looking = log_.during(evaluation::GoodputBucket::eval);
  std::optional<Watchdog::Watch> watch(
      std::in_place, &run_.watchdog, str("copying the values before step ", position_.step() + 1));
  const execution::HostState before = state_.download();
  std::optional<execution::HostState> gradients;
  if (programs_.gradients)
    gradients = programs_.gradients->of(padded_to_longest(job_.task, batch), state_,
                                        numbers_.argument(position_.step()));
  watch.reset();
  {
    const auto stepping = log_.during(evaluation::GoodputBucket::step);
    step(batch);
    read_report();
  }
  watch.emplace(&run_.watchdog, str("copying the values of step ", position_.step()));
  const execution::HostState after = state_.download();
  watch.reset();
  log_.histograms(position_.step(), run_.program.state, before, after,
                  gradients ? &*gradients : nullptr);
}

// Runs one step, with histograms if they are due.
void Trainer::take_step() {
  const data::Batch batch = next_batch_or_save();
  if (log_.wants_histograms(position_.step() + 1) && !job_.together.several())
    step_with_histograms(batch);
  else
    step(batch);
  saver_.poll();
  if (run_.lock) run_.lock->require_held();
  if (position_.step() == last_step()) read_report();
}

// Reads the clock of a run whose length is a time, if it is due. All processes use rank 0's
// reading. The latest step must have ended: step() returns when the device has begun it.
void Trainer::read_clock() {
  if (!run_.clock || !run_.clock->is_due(position_.step())) return;
  read_report();
  run_.clock->set(job_.together.broadcast(str("clock/", ++clock_readings_),
                                          [this] { return run_.clock->read(position_.step()); }));
}

std::int64_t Trainer::last_step() const {
  return run_.clock ? run_.clock->last_step() : run_.last_step();
}

// Waits for the latest step to end and handles its report.
void Trainer::read_report() {
  if (!position_.report_is_due()) return;
  const std::int64_t step = position_.step();
  run_.watchdog.at(step);
  const auto report = execution::fitting(run_.advice(str("train: step ", step)),
                                         [&] { return report_->to_host<float>(); });
  run_.watchdog.rest();
  report_.reset();
  last_.clear();
  last_.add(report);
  since_check_.add(report);
  if (job_.together.several()) {
    stop_requested_ = stop_requested_ || last_.figure(model::kStopWishes) > 0;
    save_requested_ = last_.figure(model::kSaveWishes) > 0;
  }
  const double loss = last_.figure("loss"), norm = last_.figure("gradient_norm");
  if (!std::isfinite(loss) || !std::isfinite(norm)) stop_at_bad_step(loss, norm);
  const model::Spikes& spikes = job_.config.spikes;
  position_.reported(spikes.action != model::SpikeAction::none &&
                     last_.figure(model::kSpikeFigure) > 0 &&
                     spikes_.found(spikes.action, step, loss) == model::SpikeAction::rewind);
  log_.step_done(step, report);
}

// Throws the error of a non-finite step. The state is still the one before the step, because
// neither this step nor a later one has changed it.
void Trainer::stop_at_bad_step(double loss, double norm) {
  saver_.wait();  // throws if an earlier state was already not finite
  const std::int64_t step = position_.step(), before = step - 1;
  const auto error = [&](const std::string& found) {
    return SystemError(str("train: at step ", step, " the loss is ", loss, ", the gradient's norm ",
                           norm, "; ", found),
                       saver_.stability_hint());
  };
  if (job_.together.several()) throw error("its batch is saved only in single-process runs");
  throw error(diagnose_bad_batch(
      bad_batch_folder(job_.model_dir, step),
      {.step = step,
       .argument = numbers_.argument(before),
       .batch = padded_to_longest(
           job_.task,
           run_.source->batch(numbers_.batch_after(before, spikes_), job_.config.batch_size))},
      {.client = run_.client,
       .program =
           [&] { return program_of(job_, run_.client->platform_name(), model::gradient_program); },
       .state = state_,
       .held = programs_.step.held(),
       .settings = run_.settings}));
}

// Returns the checkpoint to roll back to. Rank 0 chooses it and removes the later ones.
checkpoint::SlicedCheckpoint Trainer::checkpoint_before(std::int64_t spike) {
  std::optional<checkpoint::SlicedCheckpoint> found;
  const std::string step = job_.together.broadcast(str("rewind/", ++rewinds_), [&] {
    found = smelt::train::rewind({.model_dir = job_.model_dir,
                                  .spike = spike,
                                  .save_every = job_.checkpoint.save_interval_steps,
                                  .first_step = numbers_.steps_before,
                                  .fields = job_.fields,
                                  .require_held = [this] { run_.lock->require_held_now(); }},
                                 spikes_);
    return str(found->step);
  });
  return found ? *std::move(found)
               : checkpoint::open_sliced_checkpoint(job_.model_dir, std::stoll(step));
}

void Trainer::rewind() {
  const std::int64_t spike = position_.spike();
  report_.reset();
  saver_.wait();
  checkpoint::SlicedCheckpoint checkpoint = checkpoint_before(spike);
  begin_spike_losses(run_.program.state, checkpoint);
  // frees memory: a device may have room for one state only
  std::optional(std::move(state_)).reset();
  {
    const Watchdog::Watch watch(&run_.watchdog, str("restoring the state of ", checkpoint.path));
    state_ =
        execution::ModelState::restore(*run_.client, run_.program.placement, run_.program.state,
                                       checkpoint.tensors, checkpoint.path);
  }
  pruned_at_.reset();
  const std::int64_t to = checkpoint.step;
  position_.went_back(to);
  const auto best = restore_kept_states(
      job_,
      {.step = to,
       .first_step = numbers_.steps_before,
       .best = recorded_best(checkpoint.state, to, job_.checkpoint.best_metric),
       .records_best = records_best(checkpoint.state, job_.checkpoint.best_metric)},
      run_.lock ? &*run_.lock : nullptr, str("rewind/", rewinds_, "/best"));
  saver_.went_back(to, best);
  note_since_best(checkpoint.state.value(kSinceBest, std::int64_t{0}));
  const std::int64_t batches = std::max(job_.config.spikes.skip_batches, spike - to);
  spikes_.rewound(to, batches);
  since_check_.clear();
  batches_ = batches_from(to);
  log_.went_back(to);
  log_warning("train: rolled back to {}, skipping {}", checkpoint.path,
              counted(batches, "batch", "batches"));
}

Trainer::Due Trainer::due() const {
  const std::int64_t step = position_.step();
  const bool is_last = step == last_step();
  // A step that was started before the latest save reports the same request again.
  const bool requested = save_requested_ && step > saver_.newest() + 2;
  return {.check = job_.check_every > 0 && (step % job_.check_every == 0 || is_last),
          .save = is_last ? saver_.newest() != step : saver_.is_due(step) || requested};
}

// Evaluates the state and starts to save it, unless a report requires a rollback.
void Trainer::check_and_save(Due due) {
  if (!due.check && !due.save) return;
  if (position_.state() != RunState::spiked) read_report();
  if (position_.state() == RunState::spiked) return;
  const auto looking =
      log_.during(due.save ? evaluation::GoodputBucket::save : evaluation::GoodputBucket::eval);
  wait_for_save();
  execution::StateCopy copy = copy_state();
  CheckpointManager::Kinds kinds{.regular = due.save};
  std::exception_ptr fault;  // an error of the evaluation must not lose the steps before it
  if (due.check) {
    const execution::HostState& host = host_of(copy);
    try {
      kinds.best = check(host);
    } catch (...) {
      // The other processes cannot save now; the error ends them.
      if (job_.together.several()) throw;
      fault = std::current_exception();
      kinds.regular = true;
      run_.settings[kUnchecked] = true;
    }
  }
  spikes_.put(run_.settings);
  if (run_.clock) run_.settings[kTrainedSeconds] = run_.clock->seconds_at(position_.step());
  if (kinds.regular || kinds.best)
    saver_.save(position_.step(), std::move(copy), kinds, run_.settings, run_.watchdog);
  if (!fault) return;
  wait_for_save();
  std::rethrow_exception(fault);
}

void Trainer::wait_for_save() {
  const Watchdog::Watch watch(&run_.watchdog, "waiting for the previous save", WorkOf::store);
  saver_.wait();
}

execution::StateCopy Trainer::copy_state() {
  const Watchdog::Watch watch(&run_.watchdog, str("copying the state of step ", position_.step()));
  return state_.start_copy();
}

const execution::HostState& Trainer::host_of(execution::StateCopy& copy) {
  const Watchdog::Watch watch(&run_.watchdog, str("copying the state of step ", position_.step()));
  return copy.host();
}

std::vector<execution::TextSample> Trainer::samples(const checkpoint::SlicedTensors& weights) {
  const Watchdog::Watch watch(&run_.watchdog,
                              str("sampling predictions at step ", position_.step()));
  return programs_.sampler->sample(weights, "train");
}

// Returns the weights for inference on the host, without copying: the moving averages if those are
// evaluated.
checkpoint::SlicedTensors Trainer::inference_weights(const execution::HostState& host) const {
  if (!programs_.sampler && !programs_.measures) return {};
  checkpoint::SlicedTensors weights = host.tensors;
  if (job_.validation && job_.validation->averages) model::put_averages_in_place(weights);
  return weights;
}

execution::Evaluation Trainer::validate(const checkpoint::SlicedTensors& weights) {
  execution::Evaluation out = programs_.scorer->score(state_, position_.step(), &run_.watchdog);
  if (programs_.measures)
    for (model::MeasuredValue& m : programs_.measures->measure(weights, "train", &run_.watchdog))
      out.measures.push_back(std::move(m));
  return out;
}

// Logs a checkpoint once its save has succeeded.
void Trainer::log_saved() {
  if (saver_.saved() == logged_save_) return;
  logged_save_ = saver_.saved();
  log_.saved(logged_save_);
}

// Evaluates the state. Returns the value of best_metric if it is the best so far, else nullopt.
std::optional<double> Trainer::check(const execution::HostState& host) {
  const auto checking = log_.during(evaluation::GoodputBucket::eval);
  const std::int64_t step = position_.step();
  job_.together.set_status(str("the evaluation of step ", step));
  saver_.require_finite(step, host);
  TrainCheck found{.first_step = first_step_,
                   .step = step,
                   .trained = since_check_.batches() > 0 ? since_check_.measures()
                                                         : std::vector<model::MeasuredValue>(),
                   .validation = {},
                   .parameters = job_.together.several()
                                     ? std::vector<execution::ParameterScale>()
                                     : execution::parameter_scales(run_.program.state, host)};
  since_check_.clear();
  const checkpoint::SlicedTensors weights = inference_weights(host);
  if (programs_.scorer) try {
      found.validation = validate(weights);
    } catch (const Stopped&) {
      stop_requested_ = true;  // a process received a signal
      position_.check_cut();
      run_.settings[kUnchecked] = true;
      return std::nullopt;
    }
  position_.checked();
  if (job_.checked) job_.checked(found);
  log_.check(found);
  if (programs_.sampler) log_.sampled(step, programs_.sampler->kind(), samples(weights));
  if (!found.validation) return std::nullopt;
  const bool is_best = saver_.is_best(*found.validation);
  note_since_best(is_best ? 0 : since_best_ + 1);
  if (!is_best) return std::nullopt;
  return found.validation->measure(job_.checkpoint.best_metric).value;
}

bool Trainer::is_patience_exhausted() const {
  return job_.early_stopping.patience > 0 && since_best_ >= job_.early_stopping.patience;
}

void Trainer::run_steps() {
  const StopSignal stop(kStopsTraining);
  log_.ready(program_cost(programs_.step.executable().program()));
  const bool rewinds = job_.config.spikes.action == model::SpikeAction::rewind;
  if ((job_.save_first || rewinds) && saver_.newest() < 0) check_and_save({.save = true});
  if (position_.state() == RunState::unchecked)
    check_and_save({.check = true, .save = true});  // saves the state without kUnchecked
  const auto has_step = [&] {
    read_clock();
    return position_.step() < last_step();
  };
  while (!is_patience_exhausted() && !is_to_stop() && has_step()) {
    take_step();
    check_and_save(due());
    log_saved();
    if (position_.state() == RunState::spiked) rewind();
  }
  check_and_save({.save = saver_.newest() != position_.step()});
  if (position_.state() == RunState::spiked) rewind();  // a spike in the last step before a signal
  {
    const auto saving = log_.during(evaluation::GoodputBucket::save);
    const Watchdog::Watch watch(&run_.watchdog, "waiting for the last save", WorkOf::store);
    saver_.finish();
  }
  log_saved();
  // A signal after the last step's report is known only to the process that received it.
  signalled_ = job_.together.any("end", is_to_stop() || StopSignal::raised());
  const std::int64_t step = position_.step();
  const std::int64_t last = last_step();
  const bool early = is_patience_exhausted() && step < last;
  if (early)
    log_info("train: {} without a better {}: stopping early at step {}",
             counted(since_best_, "evaluation"), job_.checkpoint.best_metric, run_.step_text(step));
  const bool stopped = (step < last && !early) || position_.state() == RunState::cut;
  log_.end(step, stopped ? "stopped" : "done");
  if (stopped)
    throw Stopped(str("train: stopped by a signal at step ", run_.step_text(step), "; saved"),
                  resume_hint(job_));
}

TrainSummary Trainer::summary() const {
  TrainSummary out{.first_step = first_step_,
                   .last_step = position_.step(),
                   .best_step = saver_.best_step(),
                   .signalled = signalled_};
  out.train_seconds = log_.seconds();
  out.sequences_per_second =
      static_cast<double>((out.last_step - first_step_) * job_.config.batch_size) /
      out.train_seconds;
  if (last_.batches() == 0) return out;
  for (const std::string& name : run_.program.report.figures) out.last[name] = last_.figure(name);
  for (const model::MeasuredValue& m : last_.measures()) out.last[m.name] = m.value;
  return out;
}

TrainSummary Trainer::run() try {
  run_steps();
  return summary();
} catch (const Stopped&) {
  throw;
} catch (const std::exception& error) {
  log_.end(position_.step(), "failed", error.what());
  throw;
}

}  // namespace smelt::train
