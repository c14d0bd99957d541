// The phases of a training run, for src/train alone; each is made of those before it, and what a
// phase has does not exist before it has begun.
//   OpenedRun    data, devices, the step's program, the locked folder
//   Start        what it goes on from (train/initial_state.h)
//   PreparedRun  the state on the devices and, where they have work, the compiled programs
//   Trainer      the steps: the machine of train/trainer.h
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

namespace smelt {

// What is said at a signal.
inline constexpr const char* kStopsTraining =
    "\nstopping: the step under way ends and its state is saved; once more: stops at once\n";

struct OpenedRun {
  explicit OpenedRun(const TrainJob& job);

  std::int64_t last_step() const { return job.config.schedule.total_steps; }
  ComputePolicy compute() const;
  CheckpointManager saver(const InitialState& start) const;
  MemoryAdvice advice(const std::string& what) const {
    return advice_for_training(what, job.fields);
  }

  const TrainJob& job;
  RunLog log;
  std::shared_ptr<const ExampleSource> source;
  std::shared_ptr<const Client> client;
  Json settings;  // that a checkpoint must have been made with
  StepProgram program;
  std::optional<FolderLock> lock;  // a dry run takes none, and of several processes one does
  Watchdog watchdog;
};

struct RunPrograms {
  std::optional<Scorer> scorer;                // where the job validates
  std::unique_ptr<StateMeasures> measures;     // beside those of its program
  std::unique_ptr<const TextSampler> sampler;  // where it shows texts
  std::optional<GradientValues> gradients;     // where they are looked at
  std::optional<Pruner> pruner;                // where weights become 0
  StepPrograms step;
};

struct PreparedRun {
  ModelState state;
  std::optional<RunPrograms> programs;  // none: no step and no check is left
  double compile_seconds = 0;
};

// Takes the start's state or weights. What cannot be trained removes and leaves nothing.
PreparedRun prepare(OpenedRun& run, InitialState& start);
// The folder is the run's from here on.
void accept(OpenedRun& run, InitialState& start);
// Makes best/ and save/ what they were at the run's start.
void restore_kept_states(OpenedRun& run, InitialState& start);

// What a step, which is counted over all that the weights have been through, is elsewhere.
struct StepNumbers {
  StepNumbers(const TrainJob& job, const InitialState& start)
      : steps_before(start.steps_before),
        first_batch(job.replay_data ? -start.step : -start.steps_before) {}

  // As the step's program takes it.
  std::int64_t argument(std::int64_t step) const { return step - steps_before; }
  // The batch of the step that follows it.
  std::uint64_t batch_after(std::int64_t step, const SpikeRecord& spikes) const {
    return static_cast<std::uint64_t>(step + first_batch + spikes.skipped_batches());
  }

  std::int64_t steps_before;  // of the run that the weights are of, where they count
  std::int64_t first_batch;   // of step 0 of all; negative where it was another run's
};

class Trainer {
 public:
  Trainer(OpenedRun& run, const InitialState& start, PreparedRun& prepared);
  TrainSummary run();

 private:
  struct Due {
    bool check = false, save = false;
  };
  Batch next_batch();
  Batch next_batch_or_save();
  void step(const Batch& batch);
  void prune(std::int64_t steps_done);
  void step_with_histograms(const Batch& batch);
  void take_step();
  ConsensusFlags wishes() const;
  bool is_to_stop() const;
  void read_report();
  [[noreturn]] void stop_at_bad_step(double loss, double norm);
  void rewind();
  std::unique_ptr<Prefetch> batches_from(std::int64_t step) const;
  SlicedCheckpoint checkpoint_before(std::int64_t spike);
  Due due() const;
  void check_and_save(Due due);
  void wait_for_save();
  // Begins to copy the state to the host.
  StateCopy copy_state();
  const HostState& host_of(StateCopy& copy);
  std::optional<double> check(const HostState& host);
  SlicedTensors weights_to_ask(const HostState& host) const;
  Evaluation validate(const SlicedTensors& weights);
  std::vector<TextSample> samples(const SlicedTensors& weights);
  void tell_saved();
  bool is_out_of_patience() const;
  void note_since_best(std::int64_t evaluations);
  void run_steps();
  TrainSummary summary() const;

  OpenedRun& run_;
  const TrainJob& job_;
  RunLog& log_;
  const RunPrograms& programs_;
  const std::int64_t first_step_;
  const StepNumbers numbers_;
  ModelState state_;
  std::optional<std::int64_t> pruned_at_;  // what the state has of programs_.pruner
  SpikeRecord spikes_;
  StepTracker position_;
  CheckpointManager saver_;
  std::unique_ptr<Prefetch> batches_;
  std::optional<Buffer> report_;  // of position_.step(), where it is due
  ReportSums since_check_, last_;
  std::int64_t told_saved_;
  std::int64_t since_best_ = 0;  // validations
  bool signalled_ = false;
  bool stop_wished_ = false, save_wished_ = false;  // by one of several processes
  int rewinds_ = 0;
};

}  // namespace smelt
