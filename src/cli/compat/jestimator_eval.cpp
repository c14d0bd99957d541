#include "cli/compat/jestimator_eval.h"

#include <array>
#include <charconv>
#include <iostream>
#include <utility>

#include "base/choice.h"
#include "base/error.h"
#include "base/log.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "execution/inference/best_score.h"
#include "execution/inference/evaluate.h"
#include "execution/inference/follow.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cli {
namespace {

execution::EvaluateJob evaluation_job(const JestimatorFlags& f) {
  const train::TrainJob of_training = jestimator_job(f);
  execution::EvaluateJob job;
  const execution::HeldOut held_out =
      held_out_of("eval", f.eval_pattern, f.eval_batch_size, f.num_eval_examples);
  job.data = held_out.data;
  job.batch_size = held_out.batch_size;
  job.steps = held_out.steps;
  job.passes = held_out.passes;
  job.as_original = held_out.as_original;
  job.task = of_training.task;
  job.on = of_training.on;
  job.fields = jestimator_fields("eval");
  return job;
}

std::vector<model::MeasuredValue> logged(const execution::Evaluation& evaluation) {
  std::vector<model::MeasuredValue> metrics = valid_metrics(evaluation);
  for (const model::MeasuredValue& m : metrics)
    log_info("{}: {:f} at step {}", m.name, m.value, evaluation.global_step);
  return metrics;
}

void read_only(const execution::Evaluator& evaluator) {
  evaluator.scorer().read();
  log_info("dry run: {} batches read, nothing computed", evaluator.scorer().batches());
}

// A metric whose best checkpoints are kept. The score is stored with them, as in the original
// negated if lower is better.
struct BestOf {
  std::string metric, folder;
  execution::Best best = execution::Best::highest;

  double signed_score(double value) const {
    return best == execution::Best::highest ? value : -value;
  }
  std::string score_file() const { return io::join_path(folder, "score"); }
  execution::BestScore before() const {
    if (!io::exists(score_file())) return execution::BestScore(best);
    const std::string text = io::read_file(score_file(), io::kSmallFileBytes);
    double value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    return fault == std::errc() ? execution::BestScore(best, signed_score(value))
                                : execution::BestScore(best);
  }
  void record(double value) const {  // with all digits, so that an equal score is not a better one
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), signed_score(value)).ptr;
    io::write_file(score_file(), {digits.data(), end});
  }
};

std::vector<BestOf> kept_bests(const JestimatorFlags& f, const std::string& folder) {
  std::vector<BestOf> out;
  const auto add = [&](const std::string& metrics, const char* word, execution::Best best) {
    for (const std::string_view metric : split(metrics, ','))
      if (!trim(metric).empty())
        out.push_back(
            {std::string(trim(metric)), io::join_path(folder, str(word, trim(metric))), best});
  };
  add(f.save_high, "high_", execution::Best::highest);
  add(f.save_low, "low_", execution::Best::lowest);
  for (const BestOf& best : out)
    choose<int>(
        best.best == execution::Best::highest ? "--save_high: metric" : "--save_low: metric",
        best.metric, {{"valid_loss", 0}, {"valid_mrr", 0}});
  return out;
}

class Follower {
 public:
  explicit Follower(const JestimatorFlags& f)
      : flags_(f),
        folder_(io::join_path(f.model_dir, f.eval_label)),
        best_(kept_bests(f, folder_)),
        evaluator_(evaluation_job(f)) {}

  void run() {
    if (flags_.dry_run) return read_only(evaluator_);
    execution::follow_checkpoints(
        {.model_dir = flags_.model_dir,
         .folder = folder_,
         .last_step = flags_.max_train_steps,
         .seconds = static_cast<double>(flags_.check_ckpt_every_secs),
         .newest = [&] { return last_evaluated(); },
         .next = [&](const auto& steps, bool done) { return next(steps, done); },
         .evaluate = [&](const std::string& path) { return evaluate(path); },
         .done = [&](std::int64_t step, const auto& path) { done(step, path); }});
  }

 private:
  std::string last_file() const { return io::join_path(folder_, "last_evaluated_ckpt"); }

  std::optional<std::int64_t> last_evaluated() {
    if (io::exists(last_file()))
      last_ =
          checkpoint::step_of(io::path_name(trim(io::read_file(last_file(), io::kSmallFileBytes))));
    log_info("waiting for checkpoints in {}", flags_.model_dir);
    return last_;
  }

  bool is_last(std::int64_t step) const {
    return flags_.max_train_steps && step >= *flags_.max_train_steps;
  }

  // Returns the next step to evaluate. The oldest is skipped as in the original, because a training
  // may delete it. The final checkpoint is always evaluated, and none after it; if the final step
  // is unknown and the run is done, all remaining checkpoints are evaluated.
  std::optional<std::int64_t> next(const std::vector<std::int64_t>& steps, bool run_is_done) {
    if (last_ && is_last(*last_)) return std::nullopt;
    const bool oldest_stays = run_is_done && !flags_.max_train_steps;
    for (const std::int64_t step : steps)
      if ((step > steps.front() || oldest_stays || is_last(step)) && (!last_ || step > *last_))
        return step;
    if (!last_ && steps.size() == 1 && !std::exchange(logged_reason_, true))
      log_info("the only checkpoint is not evaluated yet: the training may delete it meanwhile");
    return std::nullopt;
  }

  void done(std::int64_t step, const std::string& path) {
    last_ = step;
    io::write_file(last_file(), path);
  }

  std::vector<io::Scalar> evaluate(const std::string& path) {
    const execution::TrainedModel model = load_jestimator("eval", path, flags_);
    log_info("evaluating {}", path);
    const auto metrics = logged(evaluator_(model));
    for (const BestOf& best : best_) keep_if_best(best, metrics, model.checkpoint);
    return scalars_of(metrics);
  }

  std::vector<io::Scalar> scalars_of(const std::vector<model::MeasuredValue>& metrics) const {
    const std::string label = flags_.eval_label.substr(
        std::min(flags_.eval_label.size(), flags_.eval_label.find_first_not_of('/')));
    std::vector<io::Scalar> scalars;
    for (const model::MeasuredValue& m : metrics)
      scalars.push_back(
          {str(label.substr(0, label.find('/')), "/", m.name), static_cast<float>(m.value)});
    return scalars;
  }

  void keep_if_best(const BestOf& best, const std::vector<model::MeasuredValue>& metrics,
                    const checkpoint::SlicedCheckpoint& checkpoint) const {
    const auto found = std::ranges::find(metrics, best.metric, &model::MeasuredValue::name);
    if (!best.before().is_improved_by(found->value)) return;
    log_info("the {} {} so far: {:f}", best.best == execution::Best::highest ? "highest" : "lowest",
             best.metric, found->value);
    checkpoint::SlicedTensors parameters;  // as in the original, without the optimizer's slots
    for (const model::StateTensor& t : evaluator_.scorer().program().state.tensors)
      for (const std::string& name : t.stored_names())
        parameters.emplace(name, checkpoint.tensors.at(name));
    checkpoint::save_sliced_checkpoint(best.folder, checkpoint.step, parameters, checkpoint.state,
                                       {.max_to_keep = static_cast<int>(flags_.max_save),
                                        .names = checkpoint::CheckpointNames::jestimator});
    best.record(found->value);
  }

  const JestimatorFlags& flags_;
  std::string folder_;
  std::vector<BestOf> best_;
  execution::Evaluator evaluator_;
  std::optional<std::int64_t> last_;  // last evaluated step
  bool logged_reason_ = false;        // the reason for skipping was logged
};

}  // namespace

void evaluate_jestimator(const JestimatorFlags& f, const StartingPoint& start) {
  const execution::Evaluator evaluator(evaluation_job(f));
  if (f.dry_run) return read_only(evaluator);
  const execution::TrainedModel model = load_jestimator("eval", start.path, f);
  if (model.checkpoint.step == 0)
    log_warning("{}: the checkpoint is from step 0, so the model is not trained", model.where);
  const execution::Evaluation evaluation = evaluator(model);
  std::cout << "global_step = " << evaluation.global_step << "\n";
  for (const model::MeasuredValue& m : logged(evaluation))
    std::cout << m.name << " = " << m.value << "\n";
}

void follow_jestimator(const JestimatorFlags& f) { Follower(f).run(); }

}  // namespace smelt::cli
