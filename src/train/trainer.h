// The life of a training run: data, compile, restore or initialise, steps, checkpoints, reports.
//
// Where a run stands between its steps (StepTracker, train/step_tracker.h). A step is started while
// the one before it may still be under way, and its report is read when the next is started or
// somebody wants to look at the state; so a spike is found one step late at most.
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
//         `----------> cut: its state is saved, marked as unchecked, and the run ends
//
// What counts steps:
//   StepTracker::step()       the newest step started; all that the weights have been through count
//   StepNumbers::argument()   the same without those of another run that the weights are of: what
//                             the program, and so its schedule and its dropout, are given
//   StepNumbers::batch_after()  the batch that the next step reads: without those of another run,
//                             too, and behind the batches that rewinds have skipped
//   CheckpointManager::newest(), saved()  the newest step whose checkpoint is begun, and is known
//   to be there
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

namespace smelt {

// What is wanted of a model folder that may hold checkpoints: to go on from the newest where there
// is one; that there is one; that there is none.
enum class ResumeMode { either, resume, fresh };

struct TrainJob {
  Task task;
  TrainingConfig config;  // schedule.total_steps is where the run ends
  DeviceConfig on =
      {};            // config.devices are these; without a choice of compute it is config.compute
  std::string data;  // as open_examples takes it; a description beside the files must fit
  std::shared_ptr<const ExampleSource> source = {};  // open_training_data(), if that was called
  bool replay_data = false;  // a resumed run reads from the first batch again, as JEstimator does
  std::string vocab;      // the data's vocabulary, if known: it must be what the description says
  std::string model_dir;  // checkpoints; the newest whole one is resumed
  ResumeMode begin = ResumeMode::either;
  bool overwrite = false;  // it is emptied before `accepted` is called, and none is resumed
  std::string init;        // a folder of weights that a new run begins with; empty: with fresh ones
  std::string resume_from;  // one of this run's own checkpoints; empty: the newest
  bool take_step = false;   // of `init`: checkpoints are counted on from its step
  CheckpointOptions checkpoint = {};
  EarlyStopping early_stopping = {};  // a patience needs checkpoint.best_metric
  double hang_minutes = 30;           // a step that takes longer ends the process; 0: never
  bool save_first = false;            // a new run's state before its first step
  CheckpointNames names = CheckpointNames::smelt;
  std::optional<HeldOut> validation = {};
  // What a validation measures beside the task's figures: the names, and what measures it, which is
  // made once the device is open. Empty: nothing.
  std::vector<std::string> state_measures = {};
  std::function<std::unique_ptr<StateMeasures>(std::shared_ptr<const Client>)> make_state_measures =
      {};
  std::int64_t check_every = 0;                         // 0: never
  std::function<void(const TrainCheck&)> checked = {};  // before the check's state is saved
  bool dry_run = false;  // compiles, reads the data of check_every steps and of the validation
  TrackChoice track = {};
  ProcessGroup together = {};    // with other processes: all of them call train() alike
  Fields fields = recipe_field;  // what messages call them
  // Called once data, model and the checkpoint to go on from are known to fit, before the first
  // step; not where no step is left.
  std::function<void()> accepted = [] {};
};

// Opens a job's data, which its config's seed orders.
std::shared_ptr<const ExampleSource> open_training_data(const TrainJob& job);

// What a job runs on a platform. UsageError for a mesh, rows or a form that do not fit.
StepProgram training_program(const TrainJob& job, std::string_view platform);

struct TrainSummary {
  std::int64_t first_step = 0;  // > 0 when resumed
  std::int64_t last_step = 0;
  std::optional<std::int64_t> best_step = {};  // of the state in best/, with keep_best
  double compile_seconds = 0, train_seconds = 0, sequences_per_second = 0;
  std::map<std::string, double> last = {};  // the last step's figures and measures, by name
  // No step was left, and the job ends at an earlier one than the model: it stays as it was made.
  bool is_beyond = false;
  bool signalled = false;  // when its last step was made already: what follows is to end there
};

// Steps from the newest checkpoint, or from given or fresh weights, to schedule.total_steps, with a
// checkpoint every checkpoint.save_interval_steps steps and at the end; where one cannot be written
// training goes on, and the last one that cannot is a SystemError. A checkpoint is resumed only
// with the settings it was made with; steps, learning rate, devices and how often to save may
// change. A local model folder is locked meanwhile. SIGTERM or SIGINT: saves and throws Stopped
// that says how to go on. UsageError: data that do not fit the task, a model folder that another
// process trains in, a checkpoint of another run or another vocabulary, given weights that do not
// fit, a device's memory; SystemError: a loss or gradient that is not finite, whose batch is saved
// with the state before it (train/bad_batch.h), a state that is not (which is never saved), the
// device. Of several processes one signalled stops all at one step; what differs between them is a
// UsageError of all.
TrainSummary train(const TrainJob& job);

}  // namespace smelt
