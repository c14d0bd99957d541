// Runs the phases of a training run.

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop_notice.h"
#include "base/stop_signal.h"
#include "evaluation/tracking/metrics_file.h"
#include "train/memory_variant.h"
#include "train/training_run.h"

namespace smelt::train {
namespace {

// Reads the data of a dry run: the training batches up to the first evaluation, and the evaluation
// set.
TrainSummary read_data(const OpenedRun& run, const InitialState& start,
                       const execution::Scorer* scorer) {
  const TrainJob& job = run.job;
  const std::int64_t steps = std::clamp<std::int64_t>(run.last_step() - start.step, 0,
                                                      std::max<std::int64_t>(1, job.check_every));
  data::Prefetch batches(*run.source, job.config.batch_size,
                         StepNumbers(job, start).batch_after(start.step, start.spikes),
                         run.prefetch());
  for (std::int64_t i = 0; i < steps; ++i) (void)batches.next();
  log_info("dry run: {} of {} read, nothing trained or written", counted(steps, "batch", "batches"),
           counted(job.config.batch_size, "example"));
  if (scorer != nullptr) {
    scorer->read();
    log_info("dry run: {} of the evaluation set read",
             counted(scorer->batches(), "batch", "batches"));
  }
  return {.first_step = start.step};
}

// Saves the initial state of a run with 0 steps.
TrainSummary save_alone(OpenedRun& run, const InitialState& start,
                        const execution::ModelState& state) try {
  const StopSignal stop(kStopsTraining);
  run.log.ready();
  CheckpointManager saver = run.saver(start);
  {
    const auto saving = run.log.during(evaluation::GoodputBucket::save);
    std::optional<Watchdog::Watch> watch(std::in_place, &run.watchdog, "copying the state");
    execution::StateCopy copy = state.start_copy();
    saver.save(start.step, std::move(copy), {.regular = true}, run.settings, run.watchdog);
    watch.emplace(&run.watchdog, "waiting for the last save", WorkOf::store);
    saver.finish();
  }
  run.log.saved(start.step);
  run.log.end(start.step, "done");
  return {.first_step = start.step, .last_step = start.step};
} catch (const std::exception& error) {
  run.log.end(start.step, "failed", error.what());
  throw;
}

// Completes a run that has no steps left. It may have been killed right after its last checkpoint,
// before best/ and the end record were written.
TrainSummary finished(OpenedRun& run, InitialState& start) {
  const TrainJob& job = run.job;
  if (job.resume_from.empty()) restore_kept_states(run, start);
  if (job.together.leads()) try {
      evaluation::record_end(job.model_dir, start.step, run.recorded_steps());
    } catch (const Error& error) {
      log_warning("{}", error.what());
    }
  return {.first_step = start.step,
          .last_step = start.step,
          .best_step = start.best ? std::optional(start.best->step) : std::nullopt,
          .is_beyond = start.step > run.last_step()};
}

// Returns the job with a clock, if its length is a time.
TrainJob with_clock(TrainJob job, std::shared_ptr<TrainingClock>& clock) {
  if (job.seconds == 0) return job;
  clock = std::make_shared<TrainingClock>(job.seconds);
  job.config.position = [clock](std::int64_t step) {
    return std::llround(clock->seconds_at(step) * kScheduleUnitsPerSecond);
  };
  return job;
}

TrainSummary trained(const TrainJob& of) {
  std::shared_ptr<TrainingClock> clock;
  const TrainJob job = with_clock(of, clock);
  OpenedRun run(job, clock);
  InitialState start = [&] {
    const auto restoring = run.log.during(evaluation::GoodputBucket::restore);
    return resolve_initial_state(job, run.program, *run.client, run.settings);
  }();
  const bool has_work = start.has_work(job);
  if (start.is_saved() && !has_work)
    return job.dry_run ? read_data(run, start, nullptr) : finished(run, start);
  PreparedRun prepared = prepare(run, start);
  accept(run, start);
  const auto timed = [&](TrainSummary summary) {
    summary.compile_seconds = prepared.compile_seconds;
    return summary;
  };
  if (job.dry_run)
    return timed(read_data(
        run, start,
        prepared.programs && prepared.programs->scorer ? &*prepared.programs->scorer : nullptr));
  if (!prepared.programs) return timed(save_alone(run, start, prepared.state));
  return timed(Trainer(run, start, prepared).run());
}

}  // namespace

TrainSummary train(const TrainJob& of) {
  const StopNotice notice;  // for signals before and after training; during it, StopSignal saves
  TrainJob job = of;
  if (!job.together.several()) job.together = current_process_group("train");
  TrainSummary s;
  run_with_memory_fallback(job, [&](const TrainJob& in_form) { s = trained(in_form); });
  if (s.last_step > s.first_step)
    log_info(
        "train: {} in {} ({:.1f} sequences/s, padding counted), compiled in {:.1f} s; the model is "
        "in {}",
        counted(s.last_step - s.first_step, "step"), duration_text(s.train_seconds),
        s.sequences_per_second, s.compile_seconds, job.model_dir);
  return s;
}

}  // namespace smelt::train
