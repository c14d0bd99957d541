#include "train/kept_states.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "execution/inference/best_score.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "train/rewind.h"

namespace smelt::train {
namespace {

// Returns the settings of a checkpoint in best/, with the score of kScoreFile if they have none.
Json settings_of_best(const std::string& folder, std::int64_t step) {
  Json settings = checkpoint::checkpoint_state(checkpoint::committed_path(folder, step));
  const std::string path = io::join_path(folder, kScoreFile);
  if (settings.contains(kScore) || !io::exists(path)) return settings;
  auto score = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  if (score.is_object() && score.value("step", Json()) == step) settings[kScore] = std::move(score);
  return settings;
}

bool is_complete(const std::string& folder, std::int64_t step) try {
  (void)checkpoint::checkpoint_state(checkpoint::committed_path(folder, step));
  return true;
} catch (const checkpoint::DamagedCheckpoint& error) {
  log_warning("{}", error.what());
  return false;
}

bool has(const std::string& folder, std::int64_t step) {
  return io::exists(
             io::join_path(checkpoint::committed_path(folder, step), checkpoint::kCommitFile)) &&
         is_complete(folder, step);
}

// Returns whether best/ contains the state afterwards.
bool restore_best(const TrainJob& job, const std::string& folder, const BestState& best,
                  const checkpoint::SaveOptions& options) try {
  if (has(folder, best.step)) return true;
  if (!has(job.model_dir, best.step)) {
    log_warning(
        "train: the best state, that of step {}, is in neither {} nor {}: the next evaluation "
        "counts as the best",
        best.step, folder, job.model_dir);
    return false;
  }
  checkpoint::keep_checkpoint(job.model_dir, best.step, folder, options);
  log_info("train: the best state, that of step {}, is restored in {}", best.step, folder);
  return true;
} catch (const BugError&) {
  throw;
} catch (const Error& error) {
  log_warning("{}\n  the next evaluation counts as the best", error.what());
  return false;
}

// Returns the best evaluation by the scores of the checkpoints in best/. Logs and ignores damaged
// ones.
std::optional<BestState> best_in_folder(const std::string& folder, const std::string& metric) {
  std::optional<BestState> best;
  execution::BestScore score(execution::best_of(metric));
  for (const std::int64_t step : checkpoint::checkpoint_steps(folder)) try {
      const auto found = recorded_best(settings_of_best(folder, step), step, metric);
      if (!found || !score.is_improved_by(found->value)) continue;
      score.keep(found->value);
      best = {.value = found->value, .step = step};
    } catch (const checkpoint::DamagedCheckpoint& error) {
      log_warning("{}\n  its score is ignored", error.what());
    }
  return best;
}

// Returns whether the model folder has a later checkpoint than the resumed one, which was skipped
// because it is damaged. The copies of its step in save/ and best/ may be the only intact ones and
// must be kept.
bool has_damaged_later(const TrainJob& job, std::int64_t step) {
  return checkpoint::latest_checkpoint(job.model_dir).value_or(step) > step;
}

// Removes remains of killed saves, and unless `keep_later` the checkpoints after the resumed step.
void remove_later(const std::string& folder, std::int64_t step, bool keep_later) {
  if (!io::is_folder(folder)) return;
  checkpoint::remove_remains(folder);
  if (keep_later) return;
  for (const std::int64_t removed : remove_later_checkpoints(folder, step))
    log_info("removed {}: the run continues from step {}",
             checkpoint::checkpoint_path(folder, removed), step);
}

// Logs a failure, because the next save tries again.
void try_to_finish_removals(const std::string& model_dir, std::int64_t step,
                            const checkpoint::SaveOptions& options) try {
  checkpoint::finish_removals(model_dir, step, options);
} catch (const BugError&) {
  throw;
} catch (const Error& error) {
  log_warning("train: old checkpoints in {} were not removed: {}", model_dir, error.what());
}

std::optional<BestState> restore_folders(const TrainJob& job, const ResumePoint& from,
                                         const checkpoint::SaveOptions& options) {
  options.require_held();
  const bool skipped_later = has_damaged_later(job, from.step);
  if (job.checkpoint.keep_period > 0)
    remove_later(io::join_path(job.model_dir, "save"), from.step, skipped_later);
  if (job.checkpoint.best_metric.empty()) return std::nullopt;
  const std::string folder = io::join_path(job.model_dir, "best");
  remove_later(folder, from.step, skipped_later);
  auto best = from.best;
  if (!best && !from.records_best) best = best_in_folder(folder, job.checkpoint.best_metric);
  if (!best || !restore_best(job, folder, *best, options)) return std::nullopt;
  std::set<std::int64_t> kept{best->step};
  if (const auto rollback = rollback_best(job, from.step, from.first_step))
    if (rollback->second) kept.insert(*rollback->second);
  if (!skipped_later) keep_only(folder, kept);
  return best;
}

}  // namespace

std::optional<BestState> recorded_best(const Json& settings, std::int64_t step,
                                       const std::string& metric) {
  if (metric.empty() || !records_best(settings, metric)) return std::nullopt;
  const Json& score = settings.at(kScore);
  const Json value = score.value("value", Json());
  if (!value.is_number()) return std::nullopt;
  return BestState{.value = value.get<double>(), .step = score.value("step", step)};
}

bool records_best(const Json& settings, const std::string& metric) {
  return settings.contains(kScore) && settings.at(kScore).is_object() &&
         settings.at(kScore).value("name", Json()) == metric;
}

void keep_only(const std::string& folder, const std::set<std::int64_t>& steps) {
  for (const std::int64_t step : checkpoint::checkpoint_steps(folder))
    if (!steps.contains(step))
      checkpoint::remove_checkpoint(checkpoint::committed_path(folder, step));
}

std::optional<std::int64_t> rollback_step(const TrainJob& job, std::int64_t step,
                                          std::int64_t first_step) {
  if (job.config.spikes.action != model::SpikeAction::rewind) return std::nullopt;
  return std::max(step - step % job.checkpoint.save_interval_steps, first_step);
}

std::optional<std::int64_t> rollback_checkpoint(const TrainJob& job, std::int64_t step,
                                                std::int64_t first_step) {
  if (job.config.spikes.action != model::SpikeAction::rewind) return std::nullopt;
  const auto target = rewind_target(checkpoint::checkpoint_steps(job.model_dir), step + 1,
                                    job.checkpoint.save_interval_steps, first_step);
  if (!target || *target == step || !has(job.model_dir, *target)) return std::nullopt;
  return target;
}

std::optional<std::pair<std::int64_t, std::optional<std::int64_t>>> rollback_best(
    const TrainJob& job, std::int64_t step, std::int64_t first_step) {
  const auto target = rollback_checkpoint(job, step, first_step);
  if (!target) return std::nullopt;
  const auto best = recorded_best(
      checkpoint::checkpoint_state(checkpoint::committed_path(job.model_dir, *target)), *target,
      job.checkpoint.best_metric);
  return std::pair(*target, best ? std::optional(best->step) : std::nullopt);
}

std::optional<BestState> restore_kept_states(const TrainJob& job, const ResumePoint& from,
                                             const io::FolderLock* lock, const std::string& key) {
  const std::string found = job.together.broadcast(key, [&] {
    checkpoint::SaveOptions options{.max_to_keep = 0, .names = job.names};
    if (lock != nullptr) options.require_held = [lock] { lock->require_held_now(); };
    const auto kept = restore_folders(job, from, options);
    options.max_to_keep = static_cast<int>(job.checkpoint.max_to_keep);
    options.spare = rollback_checkpoint(job, from.step, from.first_step);
    try_to_finish_removals(job.model_dir, from.step, options);
    return kept ? Json{{"value", kept->value}, {"step", kept->step}}.dump() : std::string();
  });
  if (found.empty()) return std::nullopt;
  const auto kept = Json::parse(found);
  return BestState{.value = kept.at("value").get<double>(),
                   .step = kept.at("step").get<std::int64_t>()};
}

}  // namespace smelt::train
