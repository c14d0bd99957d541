// Training runs: load data, compile, restore or initialize the state, then steps with evaluations,
// checkpoints and logging.
//
// The states of a run between its steps (StepTracker, train/step_tracker.h). A step is started
// while the previous one may still run. Its report is read when the next step is started or the
// state is needed on the host, so that a loss spike is found at most one step late.
//
//                    check; save                       step, which reads the report before
//                       .---.                              .---.
//                       v   |                              v   |
//     unchecked ---->  settled  ------- step --------->  under_way
//         |   check,    | ^  ^                             |   |
//         |   save      | |  `------- read report ---------'   | the report read
//         |             | |                                    v is of a spike
//         |   cut by    | `---- back to a checkpoint ------- spiked
//         |   a signal  v
//         `----------> cut: saves the state, marked as unchecked; the run ends
//
// Step numbers:
//   StepTracker::step()          the latest started step, counting all steps of the weights
//   StepNumbers::argument()      the same, counted from the beginning of this run if it continues
//                                the step count of pretrained weights (TrainJob::take_step);
//                                determines learning rate and dropout
//   StepNumbers::batch_after()   the batch of the next step, counted like argument(), plus the
//                                batches that rollbacks have skipped
//   CheckpointManager::newest()  the latest step whose checkpoint was started
//   CheckpointManager::saved()   the latest step whose checkpoint is complete
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/storage/checkpoint.h"
#include "execution/inference/scorer.h"
#include "execution/inference/state_measures.h"
#include "model/train_step/program.h"
#include "train/checkpoint_options.h"
#include "train/process_group.h"
#include "train/run_log.h"

namespace smelt::train {

// Whether to resume from the latest checkpoint in the model folder: if there is one (`either`),
// always (`resume`, an error without one), or never (`fresh`, an error with one).
enum class ResumeMode { either, resume, fresh };

struct TrainJob {
  model::Task task;
  model::TrainingConfig config;  // schedule.total_steps is the last step
  // Above 0: the run ends after this many seconds of training, and its schedule counts milliseconds
  // of training instead of steps (train/training_clock.h).
  double seconds = 0;
  // Device, mesh and, if on.compute is set, compute policy. They replace config.devices and
  // config.compute.
  model::DeviceConfig on = {};
  // Path of the examples, in the format of open_examples(). A description next to the files must
  // fit the task.
  std::string data;
  std::shared_ptr<const data::ExampleSource> source =
      {};                    // opened `data`, if the caller has done so
  bool replay_data = false;  // a resumed run starts again at the first batch, as in JEstimator
  std::string vocab;      // vocabulary file of the data, if known; checked against the description
  std::string model_dir;  // folder of checkpoints; the latest complete one is resumed
  ResumeMode begin = ResumeMode::either;
  bool overwrite = false;   // empty the folder before `accepted` is called, and do not resume
  std::string init;         // pretrained weights of a new run; empty: random weights
  std::string resume_from;  // checkpoint of this run to resume from; empty: the latest
  bool take_step = false;   // continue the step count of the weights at `init`
  CheckpointOptions checkpoint = {};
  EarlyStopping early_stopping = {};  // patience needs checkpoint.best_metric
  double hang_minutes = 30;           // end the process if a step takes longer; 0: never
  bool save_first = false;            // save a new run's state before its first step
  checkpoint::CheckpointNames names = checkpoint::CheckpointNames::smelt;
  std::optional<execution::HeldOut> validation = {};
  // Names of additional metrics of evaluations, and a function that creates the object that
  // computes them. The function is called once the device is open.
  std::vector<std::string> state_measures = {};
  std::function<std::unique_ptr<execution::StateMeasures>(std::shared_ptr<const pjrt::Client>)>
      make_state_measures = {};
  std::int64_t check_every = 0;  // steps between evaluations; 0: never
  // Called after an evaluation, before the state is saved.
  std::function<void(const TrainCheck&)> checked = {};
  // Do not train: only compile the programs, and read the data of check_every steps and of the
  // evaluation.
  bool dry_run = false;
  TrackChoice track = {};
  ProcessGroup together = {};    // process group; all its ranks call train() with the same job
  Fields fields = recipe_field;  // names of the settings in messages
  // Called before the first step, once data, model and checkpoint were checked. Not called if no
  // step is left.
  std::function<void()> accepted = [] {};
};

// Opens a job's data, in an order that depends on its config's seed.
std::shared_ptr<const data::ExampleSource> open_training_data(const TrainJob& job);

// Builds the training step of a job for a platform. Throws UsageError for a mesh, batch size or
// memory variant that does not fit.
model::StepProgram training_program(const TrainJob& job, std::string_view platform);

struct TrainSummary {
  std::int64_t first_step = 0;  // > 0 if the run was resumed
  std::int64_t last_step = 0;
  std::optional<std::int64_t> best_step = {};  // step of the state in best/, with best_metric
  double compile_seconds = 0, train_seconds = 0, sequences_per_second = 0;
  std::map<std::string, double> last = {};  // metrics of the last step, by name
  // True if the model is already beyond the job's last step, and was not changed.
  bool is_beyond = false;
  bool signalled = false;  // a signal came after the last step: the caller should stop
};

// Trains from the latest checkpoint, or from pretrained or random weights, to schedule.total_steps
// or for TrainJob::seconds.
// Saves a checkpoint every checkpoint.save_interval_steps steps and at the end. If one cannot be
// saved, training continues; throws SystemError if the last one cannot. Resumes a checkpoint only
// with the settings it was made with, except for steps, learning rate, devices and save intervals.
// Locks a local model folder. On SIGTERM or SIGINT saves and throws Stopped with a hint on how to
// resume.
// Throws UsageError for data that does not fit the task, a model folder in which another process
// trains, a checkpoint of another run or another vocabulary, pretrained weights that do not fit,
// and insufficient device memory. Throws SystemError for a non-finite loss or gradient (the batch
// is saved with the state before it, see train/bad_batch.h), for a non-finite state (which is never
// saved), and for device errors. In a multi-process run a signal to one process stops all at the
// same step, and differences between processes are a UsageError on all.
TrainSummary train(const TrainJob& job);

}  // namespace smelt::train
