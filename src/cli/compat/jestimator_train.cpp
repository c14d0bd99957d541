#include "cli/compat/jestimator_train.h"

#include <chrono>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/storage/layout.h"
#include "cli/options/answers.h"
#include "data/input_pipeline/example_source.h"
#include "execution/train_state/parameter_scales.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "train/job_program.h"
#include "train/process_group.h"

namespace smelt::cli {
namespace {

// Returns the path of the file that stores the run's random seed for later resumes.
std::string run_file(const JestimatorFlags& f) {
  return io::join_path(f.model_dir, "jestimator.json");
}

std::optional<std::int64_t> seed_of_earlier(const JestimatorFlags& f) {
  if (!io::exists(run_file(f))) return std::nullopt;
  const Json saved = Json::parse_or_discard(io::read_file(run_file(f), io::kSmallFileBytes));
  if (!saved.is_object() || !saved.contains("random_seed")) return std::nullopt;
  return saved.value("random_seed", std::int64_t{0});
}

std::int64_t seed_for(const JestimatorFlags& f, const StartingPoint& start) {
  if (f.random_seed) return *f.random_seed;
  if (start.own)
    if (const auto seed = seed_of_earlier(f)) {
      log_info("random seed {}, stored when this run was first started", *seed);
      return *seed;
    }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t seed = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  log_info("random seed {}, from the clock; --random_seed={} repeats this run", seed, seed);
  return seed;
}

// Returns the step from which this run counts: that of its initial weights, if they have one.
std::int64_t step_before(const JestimatorFlags& f, const StartingPoint& start) {
  if (start.path.empty()) return 0;
  const auto step = checkpoint::step_of(io::path_name(start.path));
  if (start.own) {
    const auto newest = start.newest ? checkpoint::load_latest_state(start.path) : std::nullopt;
    const Json state = newest ? newest->state : checkpoint::checkpoint_state(start.path);
    return state.value("steps_before", std::int64_t{0});
  }
  if (!f.train_load_step) return 0;
  return step ? *step : checkpoint::latest_checkpoint(start.path).value_or(0);
}

// Returns the last step for --train_epochs, or nullopt if the flag is not set.
std::optional<std::int64_t> end_of_epochs(const JestimatorFlags& f, const StartingPoint& start,
                                          const train::TrainJob& job) {
  if (!f.train_epochs) return std::nullopt;
  const auto examples = static_cast<std::int64_t>(job.source->epoch_size()) * *f.train_epochs;
  const std::int64_t steps = examples / f.train_batch_size;
  log_info("{} epochs of {} examples are {} steps", *f.train_epochs, job.source->epoch_size(),
           steps);
  return step_before(f, start) + steps;
}

// Sets the last step of the run, and the flag that messages name for it.
void set_end(train::TrainJob& job, const JestimatorFlags& f, const StartingPoint& start) {
  constexpr std::int64_t kWithoutEnd = std::numeric_limits<std::int32_t>::max();  // on devices
  const std::int64_t most = std::min(f.max_train_steps.value_or(kWithoutEnd), kWithoutEnd);
  const std::int64_t epochs = end_of_epochs(f, start, job).value_or(kWithoutEnd);
  job.config.schedule.total_steps = std::min(most, epochs);
  job.fields = jestimator_fields("valid", epochs < most ? "--train_epochs" : "--max_train_steps");
}

// Warns if the data contain mask_token_id. Tokenized text normally has no mask token, so the id
// probably belongs to a word.
void warn_of_mask_in_data(const JestimatorFlags& f, const train::TrainJob& job) {
  constexpr std::int64_t kWindows = 64;
  const data::Batch first = job.source->batch_in_order(0, kWindows);
  const auto ids = first.arrays.front().values<std::int32_t>();
  const auto found = std::ranges::count(ids, *f.mask_token_id);
  if (found > 0)
    log_warning("mask_token_id {} is {} of the first {} tokens of {}: is it the vocabulary's mask?",
                *f.mask_token_id, found, ids.size(), job.data);
}

void warn_of_saves_that_never_are(const JestimatorFlags& f) {
  if (f.save_every_steps && *f.save_every_steps % f.check_every_steps != 0)
    log_warning(
        "--save_every_steps {} is not a multiple of --check_every_steps {}: checkpoints "
        "are saved only at multiples of both",
        *f.save_every_steps, f.check_every_steps);
}

// Returns the metrics of an evaluation under the original's names.
std::vector<train::CheckedFigure> figures_of_check(const train::TrainCheck& check) {
  std::vector<train::CheckedFigure> out;
  if (!check.trained.empty())
    out.push_back({"train/train_loss", "train_loss", check.trained.front().value});
  if (check.validation)
    for (const model::MeasuredValue& m : valid_metrics(*check.validation))
      out.push_back({"train/" + m.name, m.name, m.value});
  return out;
}

train::TrainJob training_job(const JestimatorFlags& f, const StartingPoint& start) {
  train::TrainJob job = jestimator_job(f);
  // The clocks of the processes differ, so rank 0 chooses the seed.
  job.config.seed = std::stoull(train::current_process_group("jestimator").broadcast("seed", [&] {
    return str(seed_for(f, start));
  }));
  job.data = f.train_pattern;
  job.source = train::open_training_data(job);
  set_end(job, f, start);
  job.replay_data = f.parity;
  job.model_dir = f.model_dir;
  job.names = checkpoint::CheckpointNames::jestimator;
  job.checkpoint.save_interval_steps = job.check_every = f.check_every_steps;
  job.track.log_every = std::min<std::int64_t>(f.check_every_steps, 100);
  job.checkpoint.max_to_keep = f.max_ckpt;
  job.checkpoint.keep_period = f.save_every_steps.value_or(0);
  job.save_first = true;
  job.take_step = f.train_load_step;
  job.dry_run = f.dry_run;
  job.hang_minutes = f.own.hang_minutes;
  if (!start.own)
    job.init = start.path;
  else if (!start.newest)
    job.resume_from = start.path;
  if (!f.valid_pattern.empty())
    job.validation =
        held_out_of("valid", f.valid_pattern, f.valid_batch_size, f.num_valid_examples);
  return job;
}

}  // namespace

void train_jestimator(const JestimatorFlags& f, const StartingPoint& start) {
  train::TrainJob job = training_job(f, start);
  if (!f.own.replay.empty()) return print_report(train::replay(job, f.own.replay));
  warn_of_saves_that_never_are(f);
  warn_of_mask_in_data(f, job);
  job.track.figures = figures_of_check;
  std::vector<execution::ParameterScale> parameters;  // at the newest evaluation
  if (!job.dry_run)
    job.accepted = [&] {
      io::write_file(run_file(f), Json{{"random_seed", job.config.seed}}.dump() + "\n");
    };
  job.checked = [&](const train::TrainCheck& check) {
    if (check.parameters.empty()) return;  // in a multi-host run each process has only some of them
    if (parameters.empty()) log_info("{}", execution::table_of(check.parameters));
    parameters = check.parameters;
  };
  const train::TrainSummary s = train::train(job);
  if (job.dry_run) return;
  if (!parameters.empty()) log_info("{}", execution::table_of(parameters));
  log_info("training finished at step {}", s.last_step);
}

}  // namespace smelt::cli
