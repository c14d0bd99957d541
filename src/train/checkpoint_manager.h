// Saving of checkpoints in the background while training continues.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/watchdog.h"
#include "execution/inference/best_score.h"
#include "execution/train_state/state_copy.h"
#include "io/filesystem/folder_lock.h"
#include "train/initial_state.h"
#include "train/trainer.h"

namespace smelt::train {

// Saves the checkpoints of a run on another thread. Only one save runs at a time and the next waits
// for it, so that the host holds at most one copy of the state. A failed save is logged and not
// repeated; training continues, and the next save is tried when it is due.
class CheckpointManager {
 public:
  // Saves only while `lock`, the lock of the model folder, is held. In a multi-process run only
  // rank 0 has the lock; it is null on other ranks. Each process writes its own slices: `held`
  // lists the slices of all processes, and `process` is this process's number in
  // OwnedSlice::holders.
  CheckpointManager(const TrainJob& job, const InitialState& start, const io::FolderLock* lock,
                    std::vector<checkpoint::OwnedSlice> held = {}, int process = 0);

  // Return whether a save is due: is_due() by the number of the step or, in a single process, the
  // elapsed time; is_due_by_time() by the time alone. In a multi-process run only rank 0 measures
  // the time.
  bool is_due(std::int64_t step) const;
  bool is_due_by_time() const;
  // Returns whether this is the best evaluation so far by checkpoint.best_metric.
  bool is_best(const execution::Evaluation& evaluation) const;

  // Waits for the previous save. Call it before copying the state.
  void wait();
  // Where to save: in the model folder (`regular`), in best/ (`best`), or both.
  struct Kinds {
    bool regular = false;
    std::optional<double> best = {};  // value of the metric
  };
  // Starts a save. `settings` are stored in the checkpoint. The watchdog must outlive the save; it
  // watches the copy to the host, not the writing.
  void save(std::int64_t step, execution::StateCopy state, const Kinds& kinds, Json settings,
            Watchdog& watchdog);
  // Records that the run was rolled back to this saved step and that later checkpoints no longer
  // exist. `best` is the best evaluation up to this step.
  void went_back(std::int64_t step, const std::optional<BestState>& best);
  // Logs the result of the save if it has ended. Throws SystemError if the state was not finite.
  void poll();
  // Waits for the last save. Throws SystemError if the latest save in one of the folders failed.
  void finish();

  // Returns the latest step that is saved or being saved; -1 before the first.
  std::int64_t newest() const { return newest_; }
  // Returns the latest step that is known to be saved; -1 before the first.
  std::int64_t saved() const { return saved_; }
  // Returns the step of the best state so far.
  std::optional<std::int64_t> best_step() const { return best_step_; }
  // Throws SystemError, which names the tensor, if the state on any process contains a NaN or an
  // infinity.
  void require_finite(std::int64_t step, const execution::HostState& host);
  // Waits for the current save and returns a hint for messages about numerical problems.
  std::string stability_hint();

 private:
  struct Attempt {  // the save in one folder
    std::string_view place;
    std::string failure = {};  // error message; empty if it succeeded
  };
  struct Failure {
    std::string message, hint;
  };
  struct Outcome {
    std::int64_t step = 0;
    std::optional<std::string> not_finite = {};  // name of a non-finite tensor
    std::vector<Attempt> attempts = {};
    // Step of the best state that the checkpoint records.
    std::optional<std::int64_t> best_step = {};
  };
  // Steps whose states best/ must keep after a save: the best one so far, and those that are
  // recorded as the best in the checkpoints that the run may resume from or roll back to.
  struct Bests {
    std::set<std::int64_t> before_regular, after_regular;  // before and after the save in model/
  };
  // The best evaluation so far, to store in the checkpoint's settings.
  struct Scores {
    std::optional<BestState> with_save;  // if the save in best/ succeeds or is not needed
    std::optional<BestState> without;    // if it fails
  };
  [[noreturn]] void throw_not_finite(std::int64_t step, const std::string& tensor);
  std::string last_checkpoint_text();
  void note(const Outcome& outcome);
  struct Plan {  // what one save does
    std::int64_t step = 0;
    Kinds kinds;
    Json settings;
    Scores scores;
    Bests keep;
    std::optional<std::int64_t> spare;  // checkpoint that max_to_keep does not delete
  };
  static bool has_failed(const std::vector<Attempt>& attempts, std::string_view place);
  Outcome write(const Plan& plan, const execution::HostState& host) const;
  std::vector<Attempt> write_kinds(const Plan& plan, const execution::HostState& host) const;
  std::optional<BestState> best_state() const;
  Json with_score(Json settings, const std::optional<BestState>& best) const;
  // Returns the known checkpoint to which a loss spike after `step` rolls back, or nullopt.
  std::optional<std::int64_t> rollback_target(std::int64_t step) const;
  Bests bests_to_keep(std::int64_t step) const;
  void clear_best(const std::vector<Attempt>& attempts, const Kinds& kinds,
                  const Bests& keep) const;
  void know_checkpoint(std::int64_t step, const std::optional<std::int64_t>& best);
  // Writes the state to a folder, or copies it from another folder if `copy_of` is not empty.
  void publish(const std::string& place, const std::string& copy_of, std::int64_t step,
               const execution::HostState& host, const Json& settings,
               const checkpoint::SaveOptions& options) const;
  std::optional<std::string> not_finite_anywhere(const execution::HostState& host,
                                                 const std::string& key) const;
  std::string key(std::string_view what) const;
  void report_outcome(const Outcome& outcome);
  std::string folder(const char* name) const;
  bool is_kept_permanently(std::int64_t step) const;

  const TrainJob& job_;
  const io::FolderLock* lock_;
  std::vector<checkpoint::OwnedSlice> held_;
  int process_;
  std::int64_t saves_ = 0, checks_ = 0;
  std::int64_t first_step_;  // step of the run's first checkpoint
  std::int64_t saved_, newest_;
  execution::BestScore best_;
  std::optional<std::int64_t> best_step_, best_step_before_;
  // The checkpoints that the run may continue from: the latest one and the target of a rollback.
  // Maps the step of such a checkpoint to the step of the best state that it records.
  std::map<std::int64_t, std::optional<std::int64_t>> best_steps_;
  std::map<std::string_view, Failure> failures_;  // latest failure in each folder
  Clock::time_point begun_ = Clock::now();
  std::future<Outcome> current_save_;  // declared last: its thread uses the other members
};

}  // namespace smelt::train
