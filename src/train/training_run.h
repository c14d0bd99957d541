// The phases of a training run, for use in src/train only: OpenedRun, InitialState
// (train/initial_state.h), PreparedRun, Trainer. Each is made from the ones before it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/watchdog.h"
#include "data/input_pipeline/prefetch.h"
#include "execution/train_state/compiled_step.h"
#include "io/filesystem/folder_lock.h"
#include "train/checkpoint_manager.h"
#include "train/gradient_values.h"
#include "train/initial_state.h"
#include "train/pruner.h"
#include "train/spike_record.h"
#include "train/step_programs.h"
#include "train/step_tracker.h"
#include "train/trainer.h"
#include "train/training_clock.h"

namespace smelt::train {

// Printed at a stop signal.
inline constexpr const char* kStopsTraining =
    "\nstopping after the current step, whose state is saved. Signal again to stop immediately\n";

struct OpenedRun {
  // `clock` is that of job.config.position; null if the length of the run is a number of steps.
  OpenedRun(const TrainJob& job, std::shared_ptr<TrainingClock> clock);

  // Returns the last step, or TrainingClock::kUnknown if the length of the run is a time.
  std::int64_t last_step() const {
    return job.seconds > 0 ? TrainingClock::kUnknown : job.config.schedule.total_steps;
  }
  // Returns the number of steps for the run's records: 0 if it is unknown.
  std::int64_t recorded_steps() const { return job.seconds > 0 ? 0 : last_step(); }
  // Returns the step with the length of the run: "5 of 12" or "5, 30.0 % of 24 hours".
  std::string step_text(std::int64_t step) const;
  model::ComputePolicy compute() const;
  data::PrefetchOptions prefetch() const;
  CheckpointManager saver(const InitialState& start) const;
  execution::MemoryAdvice advice(const std::string& what) const {
    return execution::advice_for_training(what, job.fields);
  }

  const TrainJob& job;
  std::shared_ptr<TrainingClock> clock;
  RunLog log;
  std::shared_ptr<const data::ExampleSource> source;
  std::shared_ptr<const pjrt::Client> client;
  Json settings;               // settings that a checkpoint must have
  model::StepProgram program;  // without packing
  std::optional<data::PackingPlan> packing;
  std::optional<io::FolderLock> lock;  // none in a dry run; only on rank 0 of several processes
  Watchdog watchdog;
};

struct RunPrograms {
  std::optional<execution::Scorer> scorer;                // if the job evaluates
  std::unique_ptr<execution::StateMeasures> measures;     // additional metrics of predictions
  std::unique_ptr<const execution::TextSampler> sampler;  // if the job logs sample predictions
  std::optional<GradientValues> gradients;                // if there are gradient histograms
  std::optional<Pruner> pruner;                           // if weights are pruned
  StepPrograms step;
};

struct PreparedRun {
  execution::ModelState state;
  std::optional<RunPrograms> programs;  // nullopt if no step and no evaluation is left
  double compile_seconds = 0;
};

// Compiles the programs and places the state on the devices; start.state is moved from. Does not
// write to the model folder.
PreparedRun prepare(OpenedRun& run, InitialState& start);
// Prepares the model folder for this run: empties it if requested, and starts the log.
void accept(OpenedRun& run, InitialState& start);
// Restores best/ and save/ to what they were at the checkpoint of `start`.
void restore_kept_states(OpenedRun& run, InitialState& start);

// Converts a step, which counts all steps that the weights have been trained for, into the numbers
// that the program and the data use.
struct StepNumbers {
  StepNumbers(const TrainJob& job, const InitialState& start)
      : steps_before(start.steps_before),
        first_batch(job.replay_data ? -start.step : -start.steps_before) {}

  // Returns the step number for the program.
  std::int64_t argument(std::int64_t step) const { return step - steps_before; }
  // Returns the number of the batch for the step after `step`.
  std::uint64_t batch_after(std::int64_t step, const SpikeRecord& spikes) const {
    return static_cast<std::uint64_t>(step + first_batch + spikes.skipped_batches());
  }

  std::int64_t steps_before;  // see InitialState
  // Number of the batch that step 1 uses; negative if a later step uses batch 0.
  std::int64_t first_batch;
};

class Trainer {
 public:
  Trainer(OpenedRun& run, const InitialState& start, PreparedRun& prepared);
  TrainSummary run();

 private:
  struct Due {
    bool check = false, save = false;
  };
  data::Batch next_batch();
  data::Batch next_batch_or_save();
  void step(const data::Batch& batch);
  void prune(std::int64_t steps_done);
  void step_with_histograms(const data::Batch& batch);
  void take_step();
  void read_clock();
  std::int64_t last_step() const;
  model::ConsensusFlags wishes() const;
  bool is_to_stop() const;
  void read_report();
  [[noreturn]] void stop_at_bad_step(double loss, double norm);
  void rewind();
  std::unique_ptr<data::Prefetch> batches_from(std::int64_t step) const;
  checkpoint::SlicedCheckpoint checkpoint_before(std::int64_t spike);
  Due due() const;
  void check_and_save(Due due);
  void wait_for_save();
  // Starts copying the state to the host.
  execution::StateCopy copy_state();
  const execution::HostState& host_of(execution::StateCopy& copy);
  std::optional<double> check(const execution::HostState& host);
  checkpoint::SlicedTensors inference_weights(const execution::HostState& host) const;
  execution::Evaluation validate(const checkpoint::SlicedTensors& weights);
  std::vector<execution::TextSample> samples(const checkpoint::SlicedTensors& weights);
  void log_saved();
  bool is_patience_exhausted() const;
  void note_since_best(std::int64_t evaluations);
  void run_steps();
  TrainSummary summary() const;

  OpenedRun& run_;
  const TrainJob& job_;
  RunLog& log_;
  const RunPrograms& programs_;
  const std::int64_t first_step_;
  const StepNumbers numbers_;
  execution::ModelState state_;
  std::optional<std::int64_t> pruned_at_;  // last pruning step that was applied to the state
  SpikeRecord spikes_;
  StepTracker position_;
  CheckpointManager saver_;
  std::unique_ptr<data::Prefetch> batches_;
  std::optional<pjrt::Buffer> report_;  // report of position_.step(), if it was not read yet
  model::ReportSums since_check_, last_;
  std::int64_t logged_save_;
  std::int64_t since_best_ = 0;  // number of evaluations since the best one
  bool signalled_ = false;
  bool stop_requested_ = false, save_requested_ = false;  // requested by any process
  int rewinds_ = 0, clock_readings_ = 0;
};

}  // namespace smelt::train
