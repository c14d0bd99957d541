#include "train/follow.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/layout.h"
#include "store/folder.h"
#include "store/path.h"
#include "track/run_record.h"
#include "train/stop_signal.h"

namespace smelt {
namespace {

constexpr const char* kStopsFollowing =
    "\nstopping: the batch under way ends, its checkpoint is evaluated another time; once more: "
    "stops at once\n";

class Follower {
 public:
  explicit Follower(const FollowJob& job) : job_(job), newest_(job.newest) {}

  void run() {
    const StopSignal stop(kStopsFollowing);
    while (!StopSignal::raised()) {
      if (job_.last_step && newest_ && *newest_ >= *job_.last_step)
        return spdlog::info("eval: step {}, the last, is evaluated", *newest_);
      const bool run_is_done = !job_.last_step && has_said_that_it_is_done();  // before the look
      if (const auto step = job_.next(checkpoint_steps(job_.model_dir)))
        take(*step);
      else if (run_is_done)
        return spdlog::info("eval: the run is done, and so are its checkpoints");
      else
        wait();
    }
    throw Stopped(str("eval: stopped by a signal, ", evaluated_, " checkpoints evaluated"),
                  "run the same command again to go on with the others");
  }

 private:
  bool has_said_that_it_is_done() const {
    if (!exists(join_path(job_.model_dir, kMetricsFile))) return false;
    const RunRecord run = read_run(job_.model_dir);
    return run.end && run.end->value("why", "") == "done";
  }

  void wait() const {
    const auto start = Clock::now();
    while (!StopSignal::raised() && seconds_since(start) < job_.seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  void take(std::int64_t step) {
    const std::string path = committed_path(job_.model_dir, step);
    try {
      job_.evaluate(path);
      ++evaluated_;
    } catch (const DamagedCheckpoint& error) {
      spdlog::error("{}\n  it is not evaluated", error.what());
    } catch (const UsageError&) {
      if (exists(join_path(path, kCommitFile))) throw;
      spdlog::warn("{} was removed before it was evaluated", path);
    }
    newest_ = std::max(newest_.value_or(step), step);
    job_.done(step, path);
  }

  const FollowJob& job_;
  std::optional<std::int64_t> newest_;
  std::int64_t evaluated_ = 0;
};

}  // namespace

void follow_checkpoints(const FollowJob& job) { Follower(job).run(); }

}  // namespace smelt
