#include "train/checkpoint_manager.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::train {
namespace {

// Identify the folders of a save. Appended to "the state of step 5 is not saved" in messages.
constexpr std::string_view kModel = "";
constexpr std::string_view kBest = " as the best";
constexpr std::string_view kPermanent = " in save/";

}  // namespace

CheckpointManager::CheckpointManager(const TrainJob& job, const InitialState& start,
                                     const io::FolderLock* lock,
                                     std::vector<checkpoint::OwnedSlice> held, int process)
    : job_(job),
      lock_(lock),
      held_(std::move(held)),
      process_(process),
      first_step_(start.steps_before),
      saved_(start.is_saved() ? start.step : -1),
      newest_(saved_),
      best_(execution::best_of(job.checkpoint.best_metric)) {
  if (!start.is_saved()) return;
  went_back(start.step, start.best);
  if (lock_ == nullptr || job_.checkpoint.best_metric.empty()) return;
  if (const auto rollback = rollback_best(job_, start.step, first_step_))
    best_steps_.insert(*rollback);
}

bool CheckpointManager::is_kept_permanently(std::int64_t step) const {
  return job_.checkpoint.keep_period > 0 && step > 0 && step % job_.checkpoint.keep_period == 0;
}

std::string CheckpointManager::folder(const char* name) const {
  return io::join_path(job_.model_dir, name);
}

bool CheckpointManager::is_due(std::int64_t step) const {
  if (step == newest_) return false;
  return step % job_.checkpoint.save_interval_steps == 0 ||
         (!job_.together.several() && is_due_by_time());
}

bool CheckpointManager::is_due_by_time() const {
  return job_.checkpoint.save_interval_minutes > 0 &&
         seconds_since(begun_) >= 60 * job_.checkpoint.save_interval_minutes;
}

// Returns a key for the current save, which is the same on all processes.
std::string CheckpointManager::key(std::string_view what) const {
  return str("save/", saves_, "/", what);
}

bool CheckpointManager::is_best(const execution::Evaluation& evaluation) const {
  if (job_.checkpoint.best_metric.empty()) return false;
  return best_.is_improved_by(evaluation.measure(job_.checkpoint.best_metric));
}

void CheckpointManager::wait() {
  if (current_save_.valid()) report_outcome(current_save_.get());
}

void CheckpointManager::poll() {
  if (current_save_.valid() &&
      current_save_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    wait();
}

void CheckpointManager::save(std::int64_t step, execution::StateCopy state, const Kinds& kinds,
                             Json settings, Watchdog& watchdog) {
  CHECK(!current_save_.valid());
  ++saves_;
  if (kinds.regular) {
    newest_ = step;
    begun_ = Clock::now();
  }
  Plan plan{.step = step,
            .kinds = kinds,
            .settings = std::move(settings),
            .scores = {},
            .keep = {},
            .spare = rollback_target(step)};
  plan.scores.without = best_state();
  if (kinds.best) {
    best_.keep(*kinds.best);
    best_step_before_ = std::exchange(best_step_, step);
  }
  plan.scores.with_save = best_state();
  plan.keep = bests_to_keep(step);
  current_save_ =
      run_async([this, state = std::move(state), plan = std::move(plan), &watchdog]() mutable {
        // Destroyed at the end of the save, not when the future is read.
        execution::StateCopy copy = std::move(state);
        std::optional<Watchdog::Watch> watch(std::in_place, &watchdog,
                                             str("copying the state of step ", plan.step));
        const execution::HostState& host = copy.host();
        watch.reset();
        return write(plan, host);
      });
}

std::optional<BestState> CheckpointManager::best_state() const {
  if (!best_step_) return std::nullopt;
  return BestState{.value = *best_.value(), .step = *best_step_};
}

Json CheckpointManager::with_score(Json settings, const std::optional<BestState>& best) const {
  if (job_.checkpoint.best_metric.empty()) return settings;
  settings[kScore] = {{"name", job_.checkpoint.best_metric}};
  if (best) {
    settings[kScore]["value"] = best->value;
    settings[kScore]["step"] = best->step;
  }
  return settings;
}

void CheckpointManager::went_back(std::int64_t step, const std::optional<BestState>& best) {
  saved_ = newest_ = step;
  best_ = execution::BestScore(execution::best_of(job_.checkpoint.best_metric),
                               best ? std::optional(best->value) : std::optional<double>());
  best_step_ = best ? std::optional(best->step) : std::nullopt;
  best_steps_.erase(best_steps_.upper_bound(step), best_steps_.end());
  best_steps_[step] = best_step_;
}

std::optional<std::int64_t> CheckpointManager::rollback_target(std::int64_t step) const {
  const auto planned = rollback_step(job_, step, first_step_);
  if (!planned || *planned == step) return planned;
  // If the save of the planned step failed, the run rolls back to the checkpoint before it.
  const auto after = best_steps_.upper_bound(*planned);
  return after == best_steps_.begin() ? planned : std::prev(after)->first;
}

CheckpointManager::Bests CheckpointManager::bests_to_keep(std::int64_t step) const {
  Bests out;
  const auto add = [](std::set<std::int64_t>& to, const std::optional<std::int64_t>& best) {
    if (best) to.insert(*best);
  };
  const auto rollback = rollback_target(step);
  for (const auto& [saved, best] : best_steps_) {
    add(out.before_regular, best);
    if (saved == rollback) add(out.after_regular, best);
  }
  for (auto* steps : {&out.before_regular, &out.after_regular}) add(*steps, best_step_);
  return out;
}

// Records a saved checkpoint, from which the run may continue.
void CheckpointManager::know_checkpoint(std::int64_t step,
                                        const std::optional<std::int64_t>& best) {
  const auto rollback = rollback_target(step);
  std::erase_if(best_steps_, [&](const auto& item) { return item.first != rollback; });
  best_steps_[step] = best;
}

// If the state is not finite, writes nothing and returns the name of a tensor; the run then ends.
// If a folder cannot be written, returns the failed attempt, and training continues. Rethrows a
// BugError.
CheckpointManager::Outcome CheckpointManager::write(const Plan& plan,
                                                    const execution::HostState& host) const {
  Outcome outcome{.step = plan.step, .not_finite = not_finite_anywhere(host, key("finite"))};
  if (outcome.not_finite) return outcome;
  outcome.attempts = write_kinds(plan, host);
  const auto& best =
      has_failed(outcome.attempts, kBest) ? plan.scores.without : plan.scores.with_save;
  if (best) outcome.best_step = best->step;
  clear_best(outcome.attempts, plan.kinds, plan.keep);
  return outcome;
}

bool CheckpointManager::has_failed(const std::vector<Attempt>& attempts, std::string_view place) {
  return std::ranges::any_of(attempts, [&](const Attempt& attempt) {
    return attempt.place == place && !attempt.failure.empty();
  });
}

// Returns the first non-finite tensor on any process.
std::optional<std::string> CheckpointManager::not_finite_anywhere(const execution::HostState& host,
                                                                  const std::string& key) const {
  const auto own = execution::first_not_finite(host);
  if (!job_.together.several()) return own;
  for (const std::string& name : job_.together.gather(key, own.value_or("")))
    if (!name.empty()) return name;
  return std::nullopt;
}

void CheckpointManager::publish(const std::string& place, const std::string& copy_of,
                                std::int64_t step, const execution::HostState& host,
                                const Json& settings,
                                const checkpoint::SaveOptions& options) const {
  const auto copy = [&] { checkpoint::keep_checkpoint(copy_of, step, place, options); };
  if (!job_.together.several())
    return copy_of.empty()
               ? checkpoint::save_sliced_checkpoint(place, step, host.tensors, settings, options)
               : copy();
  const checkpoint::SaveShare share{.process = process_,
                                    .leads = job_.together.leads(),
                                    .key = key(place),
                                    .gather = job_.together.gather};
  if (copy_of.empty())
    checkpoint::save_shared_checkpoint(place, step, host.tensors, held_, settings, share, options);
  else
    checkpoint::run_on_rank0(share, copy);
}

// Writes the model folder last. If the process is killed in between, the checkpoint from which the
// run resumes is complete; in the reverse order the best state or the permanent copy of a step
// could be missing. A failure in one folder does not affect the others.
std::vector<CheckpointManager::Attempt> CheckpointManager::write_kinds(
    const Plan& plan, const execution::HostState& host) const {
  const std::int64_t step = plan.step;
  Json settings = with_score(plan.settings, plan.scores.with_save);
  std::string first;  // folder with the files; the others get copies
  std::vector<Attempt> out;
  const auto publish_at = [&](std::string_view name, const std::string& place,
                              checkpoint::SaveOptions options) {
    out.push_back({.place = name});
    if (lock_ != nullptr) options.require_held = [this] { lock_->require_held_now(); };
    try {
      publish(place, first, step, host, settings, options);
      if (first.empty()) first = place;
      if (name == kBest && lock_ != nullptr) io::remove_file(io::join_path(place, kScoreFile));
    } catch (const BugError&) {
      throw;
    } catch (const Error& error) {
      out.back().failure = error.what();
    }
  };
  if (plan.kinds.best) publish_at(kBest, folder("best"), {.max_to_keep = 0, .names = job_.names});
  if (has_failed(out, kBest)) settings = with_score(plan.settings, plan.scores.without);
  if (!plan.kinds.regular) return out;
  if (is_kept_permanently(step))
    publish_at(kPermanent, folder("save"), {.max_to_keep = 0, .names = job_.names});
  publish_at(kModel, job_.model_dir,
             {.max_to_keep = static_cast<int>(job_.checkpoint.max_to_keep),
              .names = job_.names,
              .spare = plan.spare});
  return out;
}

// Removes best states that no checkpoint needs any more. If no checkpoint was
// saved in the model folder, a killed run resumes from an earlier one, so its best state is kept.
void CheckpointManager::clear_best(const std::vector<Attempt>& attempts, const Kinds& kinds,
                                   const Bests& keep) const {
  bool best = kinds.best.has_value(), regular = false;
  for (const Attempt& attempt : attempts) {
    if (attempt.place == kBest) best = attempt.failure.empty();
    if (attempt.place == kModel) regular = attempt.failure.empty();
  }
  const bool is_needed = best || (regular && keep.before_regular != keep.after_regular);
  if (lock_ == nullptr || best != kinds.best.has_value() || !is_needed) return;
  try {
    lock_->require_held_now();
    keep_only(folder("best"), regular ? keep.after_regular : keep.before_regular);
  } catch (const BugError&) {
    throw;
  } catch (const Error& error) {
    log_warning("train: could not remove older states from {}: {}", folder("best"), error.what());
  }
}

void CheckpointManager::note(const Outcome& outcome) {
  for (const Attempt& attempt : outcome.attempts)
    if (attempt.place == kModel && attempt.failure.empty()) {
      saved_ = outcome.step;
      know_checkpoint(outcome.step, outcome.best_step);
    }
}

void CheckpointManager::report_outcome(const Outcome& outcome) {
  note(outcome);
  if (outcome.not_finite) throw_not_finite(outcome.step, *outcome.not_finite);
  for (const auto& [place, failure] : outcome.attempts) {
    if (failure.empty()) {
      failures_.erase(place);
      continue;
    }
    if (place == kBest) {
      best_.take_back();
      best_step_ = best_step_before_;
    }
    const auto [what, remedy] = error_parts(failure);
    const std::string hint = remedy.empty() ? "correct this and run the command again" : remedy;
    const std::string message =
        str("the state of step ", outcome.step, " is not saved", place, ": ", what);
    failures_[place] = {message, hint};
    log_error("train: {}\n  training continues; {}; the next save tries again\n  hint: {}", message,
              last_checkpoint_text(), hint);
  }
}

void CheckpointManager::finish() {
  wait();
  if (failures_.empty()) return;
  std::vector<std::string> messages;
  for (const auto& [place, failure] : failures_) messages.push_back(failure.message);
  throw SystemError(
      "train: " + join(messages, "\n  "),
      str(failures_.begin()->second.hint, "; ", last_checkpoint_text(), ": ", resume_hint(job_)));
}

void CheckpointManager::throw_not_finite(std::int64_t step, const std::string& tensor) {
  throw SystemError(str("train: after step ", step, " ", tensor, " is not finite"),
                    stability_hint());
}

void CheckpointManager::require_finite(std::int64_t step, const execution::HostState& host) {
  if (const auto bad = not_finite_anywhere(host, str("save/check/", ++checks_)))
    throw_not_finite(step, *bad);
}

std::string CheckpointManager::last_checkpoint_text() {
  if (current_save_.valid()) try {
      note(current_save_.get());
    } catch (const Error&) {  // another error is being reported
    }
  return saved_ < 0 ? std::string("no checkpoint was saved yet")
                    : str("the checkpoint of step ", saved_, " is intact");
}

std::string CheckpointManager::stability_hint() {
  return str("lower ", job_.fields("optimizer.learning_rate"), " or raise ",
             job_.fields("schedule.warmup_steps"), "; ", last_checkpoint_text());
}

}  // namespace smelt::train
