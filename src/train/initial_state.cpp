#include "train/initial_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "checkpoint/storage/checkpoint.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/folder.h"
#include "io/formats/json_difference.h"
#include "text/readers/composed_json.h"
#include "train/training_clock.h"

namespace smelt::train {
namespace {

// "1325 MB in 0.51 s"
std::string how_fast(const checkpoint::SlicedCheckpoint& checkpoint, double seconds) {
  double bytes = 0;
  for (const auto& [name, tensor] : checkpoint.tensors)
    bytes += static_cast<double>(tensor.shape.size_bytes());
  return str(rounded(bytes / 1e6, 0), " MB in ", rounded(seconds, 2), " s");
}

// Returns whether no steps are left. If so, logs a warning.
bool warn_if_done(const TrainJob& job, const std::string& where, std::int64_t step,
                  double seconds) {
  if (job.seconds > 0) {
    const std::string length = job.fields("length");
    if (seconds >= job.seconds)
      log_warning("{} has trained for {}, {} {}: no time is left\n  hint: raise {} to train on",
                  where, hours_text(seconds), length, hours_text(job.seconds), length);
    return seconds >= job.seconds;
  }
  const std::int64_t last = job.config.schedule.total_steps;
  const std::string steps = job.fields("steps");
  if (step == last)
    log_warning(
        "{} is the last checkpoint of this run, {} {}: no steps are left\n  hint: raise {} to "
        "train on",
        where, steps, last, steps);
  if (step > last)
    log_warning(
        "{} is at step {}, beyond {} {}: no steps are left, and the model remains at step {}\n"
        "  hint: raise {}, or choose another output folder for a shorter run",
        where, step, steps, last, step, steps);
  return step >= last;
}

double trained_seconds(const Json& state) { return state.value(kTrainedSeconds, 0.0); }

// Returns whether the run of a checkpoint, or this run, counts its schedule in time, and the two
// schedules differ in their length or unit.
bool has_other_time(const TrainJob& job, const Json& saved) {
  const bool was_timed = saved.contains(kTrainedSeconds), is_timed = job.seconds > 0;
  return (was_timed || is_timed) &&
         (was_timed != is_timed ||
          execution::saved_schedule_length(saved) != job.config.schedule.total_steps);
}

std::string changes_of(const TrainJob& job, const Json& saved, const Json& settings) {
  return execution::changed_settings(
      saved, has_other_time(job, saved) ? execution::with_saved_parts(saved, settings) : settings,
      job.fields);
}

std::int64_t schedule_unit(double seconds) {
  return std::llround(seconds * kScheduleUnitsPerSecond);
}

// "7 seconds" or "200 steps"
std::string length_text(bool is_timed, std::int64_t units) {
  return is_timed ? hours_text(static_cast<double>(units) / kScheduleUnitsPerSecond)
                  : str(units, " steps");
}

// Compares the learning rates before and after a checkpoint.
std::optional<execution::RateChange> rate_change(const TrainJob& job,
                                                 const checkpoint::SlicedCheckpoint& checkpoint) {
  const Json& saved = checkpoint.state;
  const model::Schedule& now = job.config.schedule;
  const bool was_timed = saved.contains(kTrainedSeconds), is_timed = job.seconds > 0;
  if (!was_timed && !is_timed)
    return execution::rate_change(saved, now, checkpoint.step, job.fields);
  if (!has_other_time(job, saved) || checkpoint.step == 0) return std::nullopt;
  const std::int64_t trained = schedule_unit(trained_seconds(saved)), step = checkpoint.step;
  return execution::rate_change_at(
      saved, now, step,
      {.last = was_timed ? trained : step - 1,
       .next = is_timed ? trained : step,
       .length = str(job.fields("length"), " was ",
                     length_text(was_timed, execution::saved_schedule_length(saved)), ", is ",
                     length_text(is_timed, now.total_steps))},
      job.fields);
}

bool is_patience_exhausted(const TrainJob& job, const Json& state) {
  return job.early_stopping.patience > 0 &&
         state.value(kSinceBest, std::int64_t{0}) >= job.early_stopping.patience;
}

void log_resume_point(const TrainJob& job, const checkpoint::SlicedCheckpoint& checkpoint,
                      const Json& settings, double seconds) {
  const std::string& where = checkpoint.path;
  check_finished_run(job, {checkpoint.step, where, checkpoint.state}, settings);
  if (warn_if_done(job, where, checkpoint.step, trained_seconds(checkpoint.state))) return;
  if (const std::int64_t since = checkpoint.state.value(kSinceBest, std::int64_t{0});
      is_patience_exhausted(job, checkpoint.state))
    return log_info("{}: the run stopped early here, {} after the best one; raise {} to continue",
                    where, counted(since, "evaluation"), job.fields("early_stopping.patience"));
  log_info("resuming from {} ({})", where, how_fast(checkpoint, seconds));
  if (const auto changes = changes_of(job, checkpoint.state, settings); !changes.empty())
    log_warning("{}: {}", where, changes);
  if (job.seconds > 0 && checkpoint.state.contains(kTrainedSeconds))
    log_info("{}: trained for {} of {}", where, hours_text(trained_seconds(checkpoint.state)),
             hours_text(job.seconds));
  else if (job.seconds > 0 && checkpoint.step > 0)
    log_warning(
        "{}: was trained by steps, so its time is not known: the {} begin now, with a new warm-up",
        where, hours_text(job.seconds));
  const auto rate = rate_change(job, checkpoint);
  if (rate && rate->rises) log_warning("{}", rate->text);
  if (rate && !rate->rises) log_info("{}", rate->text);
}

InitialState restored_from(checkpoint::SlicedCheckpoint& checkpoint, const TrainJob& job,
                           const model::StepProgram& program, const pjrt::Client& client,
                           Json& settings) {
  const std::string& where = checkpoint.path;
  const Json& state = checkpoint.state;
  execution::check_vocabulary(state, job.vocab, where);
  execution::check_same_run(state, settings, where, job.fields);
  for (const char* name : {"init", "steps_before"})
    if (state.contains(name)) settings[name] = state[name];
  begin_spike_losses(program.state, checkpoint);
  return {.state = execution::ModelState::restore(client, program.placement, program.state,
                                                  checkpoint.tensors, where),
          .taken = {},
          .step = checkpoint.step,
          .steps_before = settings.value("steps_before", std::int64_t{0}),
          .spikes = SpikeRecord(state),
          .unchecked = state.contains(kUnchecked),
          .since_best = state.value(kSinceBest, std::int64_t{0}),
          .trained_seconds = trained_seconds(state),
          .best = recorded_best(state, checkpoint.step, job.checkpoint.best_metric),
          .records_best = records_best(state, job.checkpoint.best_metric)};
}

std::optional<checkpoint::SlicedCheckpoint> checkpoint_of(const TrainJob& job) {
  if (job.resume_from.empty()) return checkpoint::load_latest_sliced_checkpoint(job.model_dir);
  return checkpoint::load_sliced_checkpoint(job.resume_from);
}

// Returns the latest complete checkpoint before step `below`, as rank 0 finds it, because listings
// and deletions may differ between processes.
std::optional<std::int64_t> shared_step(const TrainJob& job, const std::string& key,
                                        std::int64_t below) {
  const std::string step = job.together.broadcast(key, [&] {
    const auto found = checkpoint::load_latest_state(job.model_dir, below);
    return found ? str(found->step) : std::string();
  });
  if (step.empty()) return std::nullopt;
  return std::stoll(step);
}

// Restores a multi-process run. Each process reads the slices of its devices. If one finds a
// checkpoint damaged, all use an earlier one.
InitialState restored_together(const TrainJob& job, const model::StepProgram& program,
                               const pjrt::Client& client, Json& settings) {
  std::int64_t below = std::numeric_limits<std::int64_t>::max();
  std::string damage;
  for (int attempt = 1;; ++attempt) {
    const auto begin = Clock::now();
    const std::string key = str("resume/", attempt);
    const auto step = shared_step(job, key, below);
    if (!step && damage.empty()) return {};
    if (!step) throw UsageError(damage);
    if (!damage.empty()) log_warning("{}\n  going back to step {}", damage, *step);
    InitialState start;
    std::optional<checkpoint::SlicedCheckpoint> checkpoint;
    Json taken = settings;
    damage.clear();
    try {
      checkpoint = checkpoint::open_sliced_checkpoint(job.model_dir, *step);
      start = restored_from(*checkpoint, job, program, client, taken);
    } catch (const checkpoint::DamagedCheckpoint& error) {
      damage = error.what();
    }
    const auto said = job.together.gather(key + "/read", damage);
    const auto other = std::ranges::find_if(said, [](const auto& one) { return !one.empty(); });
    if (other == said.end()) {
      settings = std::move(taken);
      log_resume_point(job, *checkpoint, settings, seconds_since(begin));
      return start;
    }
    damage = *other;
    below = *step;
  }
}

InitialState restored(const TrainJob& job, const model::StepProgram& program,
                      const pjrt::Client& client, Json& settings) {
  if (job.together.several() && job.resume_from.empty())
    return restored_together(job, program, client, settings);
  const auto begin = Clock::now();
  auto checkpoint = checkpoint_of(job);
  if (!checkpoint) return {};
  InitialState start = restored_from(*checkpoint, job, program, client, settings);
  log_resume_point(job, *checkpoint, settings, seconds_since(begin));
  return start;
}

void warn_of_other_model(const checkpoint::PretrainedWeights& given, const Json& settings) {
  const auto say = [&](const io::JsonDifference& d) {
    log_warning("{}: was made with {} {}, this run has {}", given.where, d.name, d.was.dump(),
                d.is.dump());
  };
  if (given.other_model) std::ranges::for_each(given.other_model(settings), say);
  if (given.model.is_null()) return;
  if (const auto other = io::first_difference(given.model, settings["model"], "model")) say(*other);
}

// Removes the weights of a classification head with other classes, even if its shape fits. Returns
// whether some were removed. A reranker keeps the head of a regression, because many folders of
// cross-encoders do not state that a sigmoid follows.
bool remove_other_head(const model::Task& task, checkpoint::PretrainedWeights& given) {
  if (!task.is_head) return false;
  const std::string problem = task.settings.value("problem", "");
  const Json own{{"problem", problem}, {"labels", task.settings.value("labels", Json())}};
  Json head = given.head;
  if (problem == "rerank" && head.is_object() && head.value("problem", "") == "regression")
    head["problem"] = problem;
  if (text::composed(head) == text::composed(own)) return false;
  return std::erase_if(given.parameters,
                       [&](const auto& item) { return task.is_head(item.first); }) > 0;
}

// Loads the pretrained weights at `init` and matches them with the layout's parameters. Sets
// `other_head` to whether it left out a classification head with other classes.
execution::InitialWeights weights_of(const std::string& init, const model::Task& task,
                                     const model::StateLayout& layout, bool& other_head) {
  const auto in_vocabulary = [&](std::string_view parameter) {
    const model::DimNames dims = task.dim_names ? task.dim_names(parameter) : model::DimNames();
    return !dims.empty() && dims.front().name == "vocab";
  };
  checkpoint::PretrainedWeights given =
      checkpoint::load_weights(init, execution::gelu_of_task(task.settings));
  other_head = remove_other_head(task, given);
  return execution::take_weights(layout, std::move(given), in_vocabulary);
}

// Loads the pretrained weights at job.init into `start`, adds their source to `settings`, and logs
// how they differ from what the run needs.
void take_given(const TrainJob& job, const model::StepProgram& program, Json& settings,
                InitialState& start) {
  bool other_head = false;
  start.taken = weights_of(job.init, job.task, program.state, other_head);
  log_info("{}", execution::table_of(*start.taken));
  if (other_head)
    log_warning(
        "{}: its head has other classes ({}) and is not used", job.init,
        start.taken->given.head.is_null() ? "unknown" : start.taken->given.head["labels"].dump());
  const checkpoint::PretrainedWeights& given = start.taken->given;
  if (const auto missing = execution::missing_encoder_parameters(*start.taken); !missing.empty())
    log_warning("{} {}", given.where, missing);
  if (const auto other = execution::other_vocabulary(given, job.vocab); !other.empty())
    log_warning("{} {}", given.where, other);
  else if (job.vocab.empty() && given.vocabulary_crc32c &&
           settings.contains(checkpoint::kVocabularyCrc32c) &&
           settings[checkpoint::kVocabularyCrc32c] != *given.vocabulary_crc32c)
    log_warning("{} was made with another vocabulary than the data: crc32c {}, not {}", given.where,
                *given.vocabulary_crc32c, settings[checkpoint::kVocabularyCrc32c].dump());
  settings["init"] = given.where;
  if (job.take_step && given.step > 0)
    settings["steps_before"] = start.step = start.steps_before = given.step;
  if (start.step > 0) warn_if_done(job, given.where, start.step, 0);
  if (settings.contains("model")) warn_of_other_model(given, settings);
}

}  // namespace

void check_finished_run(const TrainJob& job, const checkpoint::SavedState& saved,
                        const Json& settings) {
  const std::int64_t last = job.config.schedule.total_steps;
  const bool is_early =
      job.seconds > 0 ? trained_seconds(saved.state) < job.seconds : saved.step < last;
  if (saved.step == 0 || (job.seconds == 0 && saved.step > last) ||
      (is_early && !is_patience_exhausted(job, saved.state)) || saved.state.contains(kUnchecked))
    return;
  const std::string changes = changes_of(job, saved.state, settings);
  if (changes.empty()) return;
  throw UsageError(str(saved.path, " is the last checkpoint of this run, ",
                       job.seconds > 0 ? str(job.fields("length"), " ", hours_text(job.seconds))
                                       : str(job.fields("steps"), " ", last),
                       is_early ? str(" and ", job.fields("early_stopping.patience"), " ",
                                      job.early_stopping.patience)
                                : std::string(),
                       ", and was trained with other settings: ", changes),
                   str("use the settings that it was trained with, raise ",
                       job.fields(is_early          ? "patience"
                                  : job.seconds > 0 ? "length"
                                                    : "steps"),
                       " to train on with these, or choose another output folder for a new run"));
}

InitialValues initial_values(const std::string& init, const model::Task& task,
                             const model::StateLayout& layout, const std::string& vocab) {
  bool other_head = false;  // not reported: the classes may not be known yet
  const execution::InitialWeights taken = weights_of(init, task, layout, other_head);
  if (const auto missing = execution::missing_encoder_parameters(taken); !missing.empty())
    log_warning("{} {}", taken.given.where, missing);
  if (const auto other = execution::other_vocabulary(taken.given, vocab); !other.empty())
    log_warning("{} {}", taken.given.where, other);
  return {.taken = taken.parameters.size(), .fresh = taken.fresh.size()};
}

void check_weights_stay(const std::string& init, const std::string& model_dir, bool overwrite) {
  if (!overwrite || init.empty() || !io::is_path_inside(init, model_dir)) return;
  throw UsageError(
      str("train.init_from: ", init, " is inside ", model_dir, ", which --overwrite deletes"),
      "copy it elsewhere, or choose another folder for the new run");
}

void check_resume_mode(ResumeMode begin, const std::string& model_dir) {
  if (begin == ResumeMode::either) return;
  const auto newest = checkpoint::latest_checkpoint(model_dir);
  if (begin == ResumeMode::resume && !newest)
    throw UsageError(str("train: ", model_dir, " contains no checkpoint to resume"),
                     "omit --resume to start a new run, or pass another folder");
  if (begin == ResumeMode::fresh && newest)
    throw UsageError(
        str("train: ", checkpoint::committed_path(model_dir, *newest),
            " exists, but --fresh requires a new run"),
        "choose another folder, pass --resume to continue from it, or --overwrite to remove it");
}

std::string resume_hint(const TrainJob& job) {
  return job.overwrite || job.begin == ResumeMode::fresh
             ? "to resume, run the same command again without --fresh and --overwrite"
             : "run the same command again to resume";
}

InitialState resolve_initial_state(const TrainJob& job, const model::StepProgram& program,
                                   const pjrt::Client& client, Json& settings) {
  InitialState start;
  if (!job.overwrite) {
    check_resume_mode(job.begin, job.model_dir);
    start = execution::fitting(execution::advice_for_training("train: the state", job.fields),
                               [&] { return restored(job, program, client, settings); });
  }
  if (!start.is_saved())
    log_info("train: new run in {}, {}", job.model_dir,
             job.init.empty() ? str("with random initial weights")
                              : str("with the weights of ", job.init));
  if (job.init.empty()) return start;
  if (start.is_saved())
    log_info("init {} is not used: this run has a checkpoint of its own", job.init);
  else
    take_given(job, program, settings, start);
  return start;
}

}  // namespace smelt::train
