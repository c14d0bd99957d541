// The checkpoints of a run, written by another thread while it trains on.
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

namespace smelt {

// One save at a time is under way: the next waits for it, so that there is never more than one copy
// of the state on the host. A save that fails is told and tried again when the next one is due.
class CheckpointManager {
 public:
  // Saves only while the lock of the model folder is held, by the one of several processes that
  // leads. These write together what each holds: `held` is of all of them, `process` this one's
  // number there.
  CheckpointManager(const TrainJob& job, const InitialState& start, const FolderLock* lock,
                    std::vector<HeldSlice> held = {}, int process = 0);

  // Whether the state after this step is to be saved: by the step's number, or by the time that has
  // passed, which of several processes one alone knows.
  bool is_due(std::int64_t step) const;
  bool is_due_by_time() const;
  // Whether these are the best figures so far of what the job keeps the best of.
  bool is_best(const Evaluation& evaluation) const;

  // Waits for the save before this one; to be called before the state is copied.
  void wait();
  // Begins to save in the model folder (`regular`), or as the best (`best`), or both.
  struct Kinds {
    bool regular = false;
    std::optional<double> best = {};  // with this value
  };
  // `settings` go into the checkpoint. The watchdog must outlive the save: it watches the copy, not
  // what is written.
  void save(std::int64_t step, StateCopy state, const Kinds& kinds, Json settings,
            Watchdog& watchdog);
  // The run is at this saved step again, whose best state so far is `best`; later ones are gone.
  void went_back(std::int64_t step, const std::optional<BestState>& best);
  // Tells what became of a save that has ended. SystemError for a state that is not finite.
  void poll();
  // Waits for the last save. SystemError when the newest save at one of the places failed.
  void finish();

  // The newest step that is saved or on its way; -1 before the first.
  std::int64_t newest() const { return newest_; }
  // The newest step that is known to be saved; -1: none.
  std::int64_t saved() const { return saved_; }
  // The step whose state is the best so far.
  std::optional<std::int64_t> best_step() const { return best_step_; }
  // SystemError naming the first tensor that is not, on whichever process it lies.
  void require_finite(std::int64_t step, const HostState& host);
  // A hint for messages, once the save under way has ended.
  std::string stability_hint();

 private:
  struct Attempt {  // at one of a save's places
    std::string_view place;
    std::string failure = {};  // empty: it has the state
  };
  struct Failure {
    std::string told, hint;
  };
  struct Outcome {
    std::int64_t step = 0;
    std::optional<std::string> not_finite = {};  // a tensor
    std::vector<Attempt> attempts = {};
    std::optional<std::int64_t> best_step = {};  // that the checkpoint records
  };
  // The steps whose states best/ must keep once a save has ended: the best one, and the best ones
  // as of the checkpoints that the run may be resumed from or roll back to.
  struct Bests {
    std::set<std::int64_t> before_regular, after_regular;  // until, and once, model/ has its state
  };
  // The evaluation that a checkpoint records as the best so far.
  struct Scores {
    std::optional<BestState> with_save;  // if the save in best/ succeeds, or none is made
    std::optional<BestState> without;    // if it fails
  };
  [[noreturn]] void throw_not_finite(std::int64_t step, const std::string& tensor);
  std::string where_to_go_on();
  void note(const Outcome& outcome);
  struct Plan {  // of one save
    std::int64_t step = 0;
    Kinds kinds;
    Json settings;
    Scores scores;
    Bests keep;
    std::optional<std::int64_t> spare;  // a checkpoint that stays however old it is
  };
  static bool has_failed(const std::vector<Attempt>& attempts, std::string_view place);
  Outcome write(const Plan& plan, const HostState& host) const;
  std::vector<Attempt> write_kinds(const Plan& plan, const HostState& host) const;
  std::optional<BestState> best_state() const;
  Json with_score(Json settings, const std::optional<BestState>& best) const;
  // Returns the known checkpoint that a loss spike after `step` rolls back to, or nullopt.
  std::optional<std::int64_t> rollback_target(std::int64_t step) const;
  Bests bests_to_keep(std::int64_t step) const;
  void clear_best(const std::vector<Attempt>& attempts, const Kinds& kinds,
                  const Bests& keep) const;
  void know_checkpoint(std::int64_t step, const std::optional<std::int64_t>& best);
  // Writes the state at a place, or makes a copy there of what is at another.
  void publish(const std::string& place, const std::string& copy_of, std::int64_t step,
               const HostState& host, const Json& settings, const SaveOptions& options) const;
  std::optional<std::string> not_finite_anywhere(const HostState& host,
                                                 const std::string& key) const;
  std::string key(std::string_view what) const;
  void report_outcome(const Outcome& outcome);
  std::string folder(const char* name) const;
  bool is_kept_for_ever(std::int64_t step) const;

  const TrainJob& job_;
  const FolderLock* lock_;
  std::vector<HeldSlice> held_;
  int process_;
  std::int64_t saves_ = 0, checks_ = 0;
  std::int64_t first_step_;  // that checkpoints are counted on from
  std::int64_t saved_, newest_;
  BestScore best_;
  std::optional<std::int64_t> best_step_, best_step_before_;
  // The step of the best state as of each checkpoint that the run may continue from, by that
  // checkpoint's step: the newest one, and the one that a spike rolls back to.
  std::map<std::int64_t, std::optional<std::int64_t>> best_steps_;
  std::map<std::string_view, Failure> failures_;  // by place: of its newest save
  Clock::time_point begun_ = Clock::now();
  std::future<Outcome> under_way_;  // last: its thread uses the others
};

}  // namespace smelt
