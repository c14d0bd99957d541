#include "train/trainer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/stop_notice.h"
#include "base/stop_signal.h"
#include "base/words.h"
#include "nn/state_names.h"
#include "train/bad_batch.h"
#include "train/job_program.h"
#include "train/program_cost.h"
#include "train/rewind.h"
#include "train/start.h"
#include "train/training_run.h"

namespace smelt {

constexpr const char* kStopsTraining =
    "\nstopping: the step under way ends and its state is saved; once more: stops at once\n";

Batch Trainer::next_batch() {
  const auto waiting = log_.during(Spent::input);
  const Watchdog::Watch watch(&*watchdog_, str("waiting for the batch of step ", step_ + 1),
                              WorkOf::store);
  return batches_->next();
}

void Trainer::step(const Batch& batch) {
  log_.took(batch);
  watchdog_->at(step_ + 1);
  Execution execution = compiled_->run(batch, *state_, step_ - steps_before_);
  state_->replace(execution.results);
  watchdog_->rest();
  read_report();  // of the step before: this one is under way meanwhile
  report_.emplace(std::move(execution.results.front().back()));
  ++step_;
}

// Or without, at most steps.
void Trainer::step_with_histograms() {
  const Batch batch = next_batch();
  if (!log_.wants_histograms(step_ + 1)) return step(batch);
  const auto looking = log_.during(Spent::eval);
  std::optional<Watchdog::Watch> watch(std::in_place, &*watchdog_,
                                       str("looking at the values before step ", step_ + 1));
  const HostState before = state_->download();
  std::optional<HostState> gradients;
  if (gradients_) gradients = gradients_->of(batch, *state_, step_ - steps_before_);
  watch.reset();
  {
    const auto stepping = log_.during(Spent::step);
    step(batch);
    read_report();
  }
  watch.emplace(&*watchdog_, str("looking at the values of step ", step_));
  const HostState after = state_->download();
  watch.reset();
  log_.histograms(step_, program_.state, before, after, gradients ? &*gradients : nullptr);
}

// Of the newest step, which has then ended.
void Trainer::read_report() {
  if (!report_) return;
  watchdog_->at(step_);
  const auto report =
      fitting(advice(str("train: step ", step_)), [&] { return report_->to_host<float>(); });
  watchdog_->rest();
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
  saver_->wait();  // which throws where a state before this step was already not finite
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
  SlicedCheckpoint checkpoint = smelt::rewind({.model_dir = job_.model_dir,
                                               .spike = spike,
                                               .save_every = job_.save_every,
                                               .first_step = steps_before_,
                                               .fields = job_.fields},
                                              spikes_);
  begin_spike_losses(program_.state, checkpoint);
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
  spdlog::warn("train: back to {}, over {}", checkpoint.path, counted(batches, "batch", "batches"));
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
  wait_for_save();
  StateCopy copy = state_->start_copy();
  Saver::Kinds kinds{.regular = save_is_due};
  std::exception_ptr fault;  // of the check, which must not cost the steps before it
  if (check_is_due) try {
      kinds.best = check(host_of(copy));
    } catch (...) {
      fault = std::current_exception();
    }
  spikes_.put(settings_);
  if (kinds.regular || kinds.best)
    saver_->save(step_, std::move(copy), kinds, settings_, *watchdog_);
  if (!fault) return;
  wait_for_save();
  std::rethrow_exception(fault);
}

void Trainer::wait_for_save() {
  const Watchdog::Watch watch(&*watchdog_, "waiting for the save before", WorkOf::store);
  saver_->wait();
}

const HostState& Trainer::host_of(StateCopy& copy) {
  const Watchdog::Watch watch(&*watchdog_, str("copying the state of step ", step_));
  return copy.host();
}

std::vector<FilledText> Trainer::filled(const SlicedTensors& weights) {
  const Watchdog::Watch watch(&*watchdog_, str("filling masks at step ", step_));
  return filler_->fill(weights, "train");
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
                   .trained = since_check_.batches() > 0 ? since_check_.measures()
                                                         : std::vector<MeasuredValue>(),
                   .validation = {},
                   .parameters = parameter_scales(program_.state, host)};
  since_check_.clear();
  if (scorer_) try {
      found.validation = scorer_->score(*state_, step_, &*watchdog_);
    } catch (const Stopped&) {
      check_cut_ = true;  // the run ends, too, and makes the check when it goes on
      settings_[kUnchecked] = true;
      return std::nullopt;
    }
  if (job_.checked) job_.checked(found);
  log_.check(found);
  if (filler_) {
    SlicedTensors weights = host.tensors;
    if (job_.validation && job_.validation->averages) put_averages_in_place(weights);
    log_.filled(step_, filled(weights));
  }
  if (!found.validation || !saver_->is_best(*found.validation)) return std::nullopt;
  return found.validation->measure(job_.keep_best).value;
}

// All that a run does up to its first check, but for its steps.
void Trainer::read_data() {
  const std::int64_t left = job_.config.schedule.total_steps - step_;
  const std::int64_t steps =
      std::clamp<std::int64_t>(left, 0, std::max<std::int64_t>(1, job_.check_every));
  for (std::int64_t i = 0; i < steps; ++i) (void)batches_->next();
  spdlog::info("dry run: {} of {} read, nothing trained or written",
               counted(steps, "batch", "batches"), counted(job_.config.batch_size, "example"));
  if (!scorer_) return;
  scorer_->read();
  spdlog::info("dry run: {} of the validation read",
               counted(scorer_->batches(), "batch", "batches"));
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
    pause(check_is_due, step_ == last ? saver_->newest() != step_ : saver_->is_due(step_));
    tell_saved();
    if (spike_at_) rewind();
  }
}

void Trainer::run_steps() {
  const std::int64_t last = job_.config.schedule.total_steps;
  const StopSignal stop(kStopsTraining);
  told_saved_ = saver_->saved();
  log_.ready(compiled_ ? program_cost(compiled_->executable().program()) : Record::object());
  const bool rewinds = job_.config.spikes.action == SpikeAction::rewind;
  if ((job_.save_first || rewinds) && saver_->newest() < 0) pause(false, true);
  if (unchecked_) pause(true, true);  // saved without the mark
  take_steps();
  pause(false, saver_->newest() != step_);
  if (spike_at_) rewind();  // found in the last step before a signal
  {
    const auto saving = log_.during(Spent::save);
    const Watchdog::Watch watch(&*watchdog_, "waiting for the last save", WorkOf::store);
    saver_->finish();
  }
  tell_saved();
  const bool stopped = step_ < last || check_cut_;
  log_.end(step_, stopped ? "stopped" : "done");
  if (stopped)
    throw Stopped(str("train: stopped by a signal at step ", step_, " of ", last, "; saved"),
                  how_to_go_on(job_));
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

TrainSummary train(const TrainJob& job) {
  const StopNotice notice;  // until there are steps to save, and once they are saved
  const TrainSummary s = Trainer(job).run();
  if (s.last_step > s.first_step)
    spdlog::info(
        "train: {} in {} ({:.1f} sequences/s, padding counted), compiled in {:.1f} s; the model is "
        "in {}",
        counted(s.last_step - s.first_step, "step"), duration_text(s.train_seconds),
        s.sequences_per_second, s.compile_seconds, job.model_dir);
  return s;
}

}  // namespace smelt
