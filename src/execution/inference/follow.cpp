#include "execution/inference/follow.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "evaluation/tracking/event_log.h"
#include "evaluation/tracking/run_record.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"

namespace smelt::execution {
namespace {

constexpr const char* kStopsFollowing =
    "\nstopping after the current batch; the same command evaluates this checkpoint again. Signal "
    "again to stop immediately\n";

class Follower {
 public:
  explicit Follower(const FollowJob& job)
      : job_(job), lock_(job.folder, "eval"), newest_(job.newest()) {}

  void run() {
    const StopSignal stop(kStopsFollowing);
    while (!StopSignal::raised()) {
      // Must be read before the checkpoints are listed: a run that is done writes no more.
      const bool run_is_done = is_run_done();
      if (const auto step = job_.next(checkpoint::checkpoint_steps(job_.model_dir), run_is_done))
        take(*step);
      else if (job_.last_step && newest_ && *newest_ >= *job_.last_step)
        return log_last();
      else if (run_is_done)
        return log_info("eval: the run is finished and all its checkpoints are evaluated");
      else
        wait();
    }
    throw Stopped(
        str("eval: stopped by a signal, ", counted(evaluated_, "checkpoint"), " evaluated"),
        "run the same command again to evaluate the remaining checkpoints");
  }

 private:
  // Returns whether the run is finished. Ignores an end record of a run with another last step.
  // Also ignores one that is older than this object if a process works in model_dir: the run was
  // resumed.
  bool is_run_done() const {
    if (!io::exists(io::join_path(job_.model_dir, evaluation::kMetricsFile))) return false;
    const evaluation::RunRecord run = evaluation::read_run(job_.model_dir);
    return run.end && run.end->value("why", "") == "done" &&
           (!job_.last_step || run.of == *job_.last_step) &&
           (run.time >= begun_ || !io::folder_worker(job_.model_dir));
  }

  void log_last() const {
    if (skipped_ == newest_)
      log_warning("eval: the last checkpoint, step {}, was skipped", *newest_);
    else
      log_info("eval: the last checkpoint, step {}, is evaluated", *newest_);
  }

  void wait() const {
    const auto start = Clock::now();
    while (!StopSignal::raised() && seconds_since(start) < job_.seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  void take(std::int64_t step) {
    const std::string path = checkpoint::committed_path(job_.model_dir, step);
    const auto is_there = [&] { return io::exists(io::join_path(path, checkpoint::kCommitFile)); };
    try {
      const auto scalars = job_.evaluate(path);
      ++evaluated_;
      if (!events_) events_.emplace(job_.folder, step);
      events_->add(step, scalars);
    } catch (const checkpoint::DamagedCheckpoint& error) {
      if (is_there())
        log_error("{}\n  skipped: this checkpoint is not evaluated", error.what());
      else
        log_removed(path);
      skipped_ = step;
    } catch (const UsageError&) {
      if (is_there()) throw;
      log_removed(path);
      skipped_ = step;
    }
    newest_ = std::max(newest_.value_or(step), step);
    job_.done(step, path);
  }

  static void log_removed(const std::string& path) {
    log_warning("{} was removed before it was evaluated", path);
  }

  const FollowJob& job_;
  const io::FolderLock lock_;
  const double begun_ = evaluation::wall_seconds();
  std::optional<std::int64_t> newest_, skipped_;
  std::int64_t evaluated_ = 0;
  std::optional<evaluation::EventLog> events_;
};

}  // namespace

void follow_checkpoints(const FollowJob& job) { Follower(job).run(); }

}  // namespace smelt::execution
