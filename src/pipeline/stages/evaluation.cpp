#include "pipeline/stages/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "evaluation/tracking/metrics_file.h"
#include "execution/inference/follow.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "pipeline/config/distillation.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/stages/pipeline.h"
#include "train/process_group.h"

namespace smelt::pipeline {
namespace {

execution::EvaluateJob recipe_evaluation(const Recipe& r) {
  const RecipePaths paths(r);
  if (paths.scored.empty())
    throw UsageError(
        str("eval: no held-out examples: ", has_no_validation(r)
                                                ? "data.validation_share is 0"
                                                : "data.records are given without data.heldout"),
        has_no_validation(r) ? "name labelled rows with --set data.test=… --set eval.split=test"
                             : "name some with --set data.heldout=…");
  if (r.eval.split == "test") make_test_examples(r);
  execution::EvaluateJob job;
  job.task = shrinking_task(r, r.type->task(r));
  const HeldOutBatches batches = held_out_batches(r, job.task, paths.scored);
  job.batch_size = batches.size;
  job.on = r.train;
  job.data = paths.scored;
  job.vocab = made_vocabulary(paths);
  job.model_dir = paths.trained;
  job.steps = batches.steps;
  job.repeats = batches.repeats;
  job.passes = r.eval.passes;
  job.averaged = r.eval.averaged;
  return job;
}

// Returns the batches for `held_out` examples. If `pads`, padding examples may fill a batch.
HeldOutBatches batches_of(const Recipe& r, std::int64_t held_out, bool pads) {
  HeldOutBatches out{.size = r.eval.batch_size, .steps = r.eval.steps};
  if (held_out >= out.size) return out;
  const std::int64_t parts = model::partition_for(r.train.mesh, r.train.devices).row_shards();
  if (pads) {
    out.size = (held_out + parts - 1) / parts * parts;
    return out;
  }
  out.size = held_out / parts * parts;
  if (out.size > 0) return out;
  return {.size = parts, .steps = 1, .repeats = true};
}

std::int64_t evaluated_step(const evaluation::Record& record) {
  return record.value("global_step", std::int64_t{-1});
}

// Returns the content of a checkpoint's marker file, which is different if training rolled back and
// saved the same step again. Empty if the checkpoint no longer exists. `model` is a checkpoint or a
// folder of checkpoints.
std::string mark_of(const std::string& model, std::int64_t step) {
  const std::string marker = io::join_path(
      checkpoint::is_checkpoint_path(model) ? model : checkpoint::committed_path(model, step),
      checkpoint::kCommitFile);
  return io::exists(marker) ? std::string(trim(io::read_file(marker, io::kSmallFileBytes)))
                            : std::string();
}

std::vector<evaluation::Record> stored_evaluations(const std::string& model_dir) {
  const std::string path = io::join_path(model_dir, evaluation::kEvaluationsFile);
  return io::exists(path) ? evaluation::read_metrics(path) : std::vector<evaluation::Record>();
}

// Writes the results of an evaluation. `mark` identifies the checkpoint, see mark_of().
void write_evaluation(const Recipe& r, const execution::Evaluation& e, const std::string& mark) {
  const RecipePaths paths(r);
  io::write_file(paths.evaluation, evaluation_text(e));
  evaluation::Record record = evaluation_json(e);
  io::write_file(paths.evaluation.substr(0, paths.evaluation.rfind('.')) + ".json",
                 record.dump(2) + "\n");
  // evaluations.jsonl contains only evaluations on the validation examples.
  if (r.eval.split == "test") return;
  record["checkpoint"] = mark;
  // `smelt run` and a process in follow_model() may write at the same time.
  const io::FileLock turn(
      io::join_path(paths.model_dir, str(evaluation::kEvaluationsFile, ".lock")));
  auto all = stored_evaluations(paths.model_dir);
  const std::int64_t newest =
      checkpoint::latest_checkpoint(paths.model_dir).value_or(e.global_step);
  // Removes an earlier evaluation of this step, and those of steps that were rolled back.
  std::erase_if(all, [&](const evaluation::Record& other) {
    return evaluated_step(other) == e.global_step ||
           evaluated_step(other) > std::max(newest, e.global_step);
  });
  all.push_back(record);
  std::ranges::stable_sort(all, {}, evaluated_step);
  std::string lines;
  for (const evaluation::Record& one : all) lines += one.dump() + "\n";
  io::write_file(io::join_path(paths.model_dir, evaluation::kEvaluationsFile), lines);
}

execution::Evaluation with_more_measures(const Recipe& r, execution::Evaluation e) {
  if (!r.type->more_measures) return e;
  for (model::MeasuredValue& m : r.type->more_measures(r, e)) e.measures.push_back(std::move(m));
  return e;
}

// Evaluates the model and writes its predictions. Calls `keep` once before the predictions, which
// may run out of memory, and once with all metrics.
execution::Evaluation evaluate_and_keep(
    const Recipe& r, const std::function<void(const execution::Evaluation&)>& keep) {
  execution::Evaluation e = with_more_measures(r, execution::evaluate(recipe_evaluation(r)));
  keep(e);
  if (!r.type->write_predictions) return e;
  for (model::MeasuredValue& m : r.type->write_predictions(r)) {
    std::erase_if(e.measures,
                  [&](const model::MeasuredValue& other) { return other.name == m.name; });
    e.measures.push_back(std::move(m));
  }
  keep(e);
  return e;
}

// Returns what to do about a model that is not better than its baseline.
std::string advice_text(bool is_worse, bool overfits) {
  if (overfits) return "give more text or examples, or a lower train.optimizer.learning_rate";
  if (is_worse)
    return "check train.optimizer.learning_rate (--set train.optimizer.learning_rate=…), the "
           "vocabulary and the labels";
  return "train longer (train.steps), or give more text or examples";
}

// Returns the verdict for a loss (lower is better).
std::string loss_verdict(const BaselineMeasures& baseline, double model, double base,
                         bool overfits) {
  const auto against = str(baseline.measure, " ", rounded(model, 3), ", ");
  const auto name = str("the baseline's ", rounded(base, 3), " (", baseline.meaning, ")");
  if (model < 0.95 * base) return str("verdict: good: ", against, "clearly better than ", name);
  const bool is_worse = model > 1.05 * base;
  return str("verdict: not yet trained: ", against,
             is_worse ? "worse than " : "not clearly better than ", name, ": ",
             advice_text(is_worse, overfits));
}

// Formats a loss: "15 million", "7.1".
std::string loss_text(double loss) {
  if (!std::isfinite(loss)) return "not finite";
  if (loss >= 1e6) return str(rounded(loss / 1e6, loss < 1e7 ? 1 : 0), " million");
  return rounded(loss, loss < 10 ? 2 : 0);
}

class RecipeFollower {
 public:
  RecipeFollower(const Recipe& r,
                 const std::function<void(const execution::Evaluation&)>& on_evaluation)
      : recipe_(r), model_dir_(RecipePaths(r).model_dir), on_evaluation_(on_evaluation) {}

  void run() {
    execution::follow_checkpoints(
        {.model_dir = model_dir_,
         .folder = io::join_path(model_dir_, "eval"),
         .last_step = is_timed() ? std::nullopt : std::optional(recipe_.train.steps),
         // Polling interval; requests to a remote store cost money.
         .seconds = io::is_remote(model_dir_) ? 15.0 : 1.0,
         .newest = [&] { return newest_evaluated(); },
         .next = [&](const auto& steps, bool) { return next(steps); },
         .evaluate = [&](const std::string& path) { return evaluate(path); },
         .done = [&](std::int64_t step, const auto&) { marks_[step] = mark_; }});
  }

 private:
  // Whether the length of the run is a time, so that its last step is unknown.
  bool is_timed() const { return recipe_.train.seconds > 0; }

  std::optional<std::int64_t> newest_evaluated() {
    for (const evaluation::Record& record : stored_evaluations(model_dir_))
      marks_[evaluated_step(record)] = record.value("checkpoint", "");
    log_info("eval: following {} {}", model_dir_,
             is_timed() ? std::string("to its end") : str("to step ", recipe_.train.steps));
    return marks_.empty() ? std::nullopt : std::optional(marks_.rbegin()->first);
  }

  std::optional<std::int64_t> next(const std::vector<std::int64_t>& steps) {
    for (const std::int64_t step : steps) {
      const auto known = marks_.find(step);
      mark_ = mark_of(model_dir_, step);
      // Evaluates a step again if its checkpoint was replaced after a rollback. Skips this check
      // for evaluations without a mark (of earlier versions) and for deleted checkpoints.
      if (known == marks_.end() ||
          (!known->second.empty() && !mark_.empty() && known->second != mark_))
        return step;
    }
    return std::nullopt;
  }

  std::vector<io::Scalar> evaluate(const std::string& path) {
    if (!evaluator_) start();
    const execution::Evaluation e = with_more_measures(
        recipe_,
        (*evaluator_)(execution::load_trained_model(
            "eval", path, job_.task.settings.value("model", Json()), job_.vocab, job_.averaged)));
    write_evaluation(recipe_, e, mark_);
    on_evaluation_(e);
    std::vector<io::Scalar> scalars;
    for (const model::MeasuredValue& m : e.measures)
      scalars.push_back({"eval/" + m.name, static_cast<float>(m.value)});
    return scalars;
  }

  // Creates the evaluator. Call it only once there is a checkpoint: vocabulary and data exist then.
  void start() {
    job_ = recipe_evaluation(recipe_);
    evaluator_.emplace(job_);
    evaluator_->scorer().announce();
  }

  const Recipe& recipe_;
  std::string model_dir_;
  const std::function<void(const execution::Evaluation&)>& on_evaluation_;
  // Marks of the evaluated checkpoints, by step.
  std::map<std::int64_t, std::string> marks_;
  std::string mark_;  // of the current checkpoint
  execution::EvaluateJob job_;
  std::optional<execution::Evaluator> evaluator_;
};

// Returns the point with the lowest finite value; one that is not finite if there is no other.
evaluation::CurvePoint lowest_point(const evaluation::Curve& curve) {
  evaluation::CurvePoint best = curve.front();
  for (const evaluation::CurvePoint& point : curve)
    if (point.value < best.value || !std::isfinite(best.value)) best = point;
  return best;
}

}  // namespace

HeldOutBatches held_out_batches(const Recipe& r, const model::Task& task, const std::string& data) {
  const auto source = data::open_examples({.input = data,
                                           .features = task.features,
                                           .kind = task.record_kind,
                                           .foreign = task.foreign,
                                           .windows = task.windows});
  if (source->size() == 0)
    throw UsageError(str("eval: ", data, " contains no examples"),
                     "raise text.heldout, or give more text");
  return batches_of(r, static_cast<std::int64_t>(source->size()), !task.row_weights.empty());
}

OrderedJson evaluation_json(const execution::Evaluation& e) {
  OrderedJson out{{"global_step", e.global_step}, {"examples", e.examples}, {"loss", e.loss}};
  for (const model::MeasuredValue& m : e.measures) out[m.name] = m.value;
  for (const model::MeasuredValue& m : e.measures) out["weights"][m.name] = m.weight;
  return out;
}

execution::Evaluation evaluation_of_json(const OrderedJson& json) {
  execution::Evaluation out;
  out.global_step = json.value("global_step", out.global_step);
  out.examples = json.value("examples", out.examples);
  out.loss = json.value("loss", out.loss);
  if (!json.contains("weights")) return out;
  for (const auto& [name, weight] : json.at("weights").items())
    out.measures.push_back(
        {.name = name, .value = json.value(name, 0.0), .weight = weight.get<double>()});
  return out;
}

std::string evaluation_text(const execution::Evaluation& e) {
  std::ostringstream out;
  out << "global_step = " << e.global_step << "\nloss = " << e.loss << "\n";
  auto measures = e.measures;
  std::ranges::sort(measures, {}, &model::MeasuredValue::name);
  for (const model::MeasuredValue& m : measures) out << m.name << " = " << m.value << "\n";
  return out.str();
}

std::string evaluation_report(const Recipe& r, const execution::Evaluation& e) {
  std::string judged =
      divergence_verdict(loss_course(RecipePaths(r).model_dir), e, r.train.optimizer.learning_rate);
  const std::string remark = overfitting_remark(RecipePaths(r).model_dir);
  if (judged.empty()) judged = verdict(r.type->baseline, e, !remark.empty());
  if (!judged.empty() && !remark.empty()) judged += "\n" + remark;
  const std::string typical = judged.empty() ? "" : r.type->typical(r);
  return str("***** Eval results *****\n", evaluation_text(e), r.type->remark(r, e), "\n", judged,
             judged.empty() ? "" : "\n", typical, typical.empty() ? "" : "\n");
}

std::optional<LossTrend> loss_course(const std::string& model_dir) {
  if (!io::exists(io::join_path(model_dir, "metrics.jsonl"))) return std::nullopt;
  const evaluation::RunRecord run = evaluation::read_run(model_dir);
  const auto found = run.lines.find("loss");
  if (found == run.lines.end() || found->second.empty()) return std::nullopt;
  const evaluation::Curve& losses = found->second;
  return LossTrend{.best = lowest_point(losses), .last = losses.back()};
}

std::string overfitting_remark(const std::string& model_dir) {
  constexpr double kRise = 1.05;
  if (!io::exists(io::join_path(model_dir, "metrics.jsonl"))) return "";
  const evaluation::RunRecord run = evaluation::read_run(model_dir);
  const auto found = std::ranges::find_if(run.valid, [](const auto& curve) {
    return curve.first.ends_with("_loss") && !curve.first.starts_with("next_sentence");
  });
  if (found == run.valid.end()) return "";
  const auto& [name, curve] = *found;
  const evaluation::CurvePoint best = lowest_point(curve);
  const evaluation::CurvePoint last = curve.back();
  if (!(last.value > kRise * best.value)) return "";
  return str("the held-out ", name, " was lowest at step ", best.step, " (", rounded(best.value, 3),
             ") and is ", rounded(last.value, 3), " at step ", last.step,
             ": the model memorizes its training text; train.checkpoint.best_metric keeps the best "
             "checkpoint");
}

bool has_diverged(const LossTrend& course) {
  const double best = course.best.value, last = course.last.value;
  return !std::isfinite(last) || last > best + std::max(1.0, 0.5 * std::abs(best));
}

std::string divergence_verdict(const std::optional<LossTrend>& course,
                               const execution::Evaluation& e, double learning_rate) {
  // A uniform guess among a million words has a loss of 14.
  constexpr double kMostLossOfWord = 20;
  const bool is_beyond_guessing =
      std::ranges::any_of(e.measures, [](const model::MeasuredValue& m) {
        return (m.name == "masked_lm_loss" || m.name == "word_loss") && m.value > kMostLossOfWord;
      });
  const bool in_training = course && has_diverged(*course);
  if (!in_training && !is_beyond_guessing && std::isfinite(e.loss)) return "";
  const std::string what =
      in_training
          ? str("training loss ", loss_text(course->best.value), " at step ", course->best.step,
                ", ", loss_text(course->last.value), " at step ", course->last.step)
          : str("the evaluation's loss is ", loss_text(e.loss));
  return str("verdict: diverged: ", what,
             ": start a new run (--set out=FOLDER) with a train.optimizer.learning_rate below ",
             significant(learning_rate, 3));
}

static std::optional<model::MeasuredValue> measure_of(const execution::Evaluation& e,
                                                      const std::string& name) {
  const auto found = std::ranges::find(e.measures, name, &model::MeasuredValue::name);
  return found == e.measures.end() ? std::nullopt : std::optional(*found);
}

std::optional<bool> is_clearly_better(const BaselineMeasures& baseline,
                                      const execution::Evaluation& e) {
  const auto model = measure_of(e, baseline.measure), base = measure_of(e, baseline.of);
  if (!model || !base || model->weight <= 0) return std::nullopt;
  const double p = model->value, b = base->value;
  if (baseline.is_loss) return p < 0.95 * b;
  const double error = std::sqrt((p * (1 - p) + b * (1 - b)) / model->weight);
  return p - b > std::max(3 * error, 0.1 * std::min(b, 1 - b));
}

std::string verdict(const BaselineMeasures& baseline, const execution::Evaluation& e,
                    bool overfits) {
  constexpr double kFewItems = 100;
  const auto value = [&](const std::string& name) { return measure_of(e, name); };
  const auto model = value(baseline.measure), base = value(baseline.of);
  if (!model || !base || model->weight <= 0) return "";
  const double p = model->value, b = base->value;
  if (!std::isfinite(p)) return str("verdict: diverged: ", baseline.measure, " is not finite");
  if (baseline.is_loss) return loss_verdict(baseline, p, b, overfits);
  const double error = std::sqrt((p * (1 - p) + b * (1 - b)) / model->weight);
  const std::string own = str(baseline.measure, " ", percent(p), ", ");
  const std::string of_base = str("the baseline's ", percent(b), " (", baseline.meaning, ")");
  if (*is_clearly_better(baseline, e))
    return str("verdict: good: ", own, "clearly better than ", of_base);
  if (model->weight < kFewItems)
    return str("verdict: not certain: ", own, "against ", of_base, ", of ",
               std::llround(model->weight),
               " held-out items only: hold out more (text.heldout for text, data.validation_share "
               "for rows), or add text or examples");
  if (p > b && p - b <= 3 * error)
    return str("verdict: not certain: ", own, "better than ", of_base,
               ", but within 3 standard errors: evaluate more examples, or train longer");
  const bool is_worse = p + 3 * error < b;
  return str("verdict: not yet trained: ", own,
             is_worse ? "worse than " : "not clearly better than ", of_base, ": ",
             advice_text(is_worse, overfits));
}

execution::Evaluation evaluate_model(const Recipe& r) {
  if (!train::is_rank_zero()) return execution::evaluate(recipe_evaluation(r));
  return evaluate_and_keep(r, [&](const execution::Evaluation& e) {
    write_evaluation(r, e, mark_of(RecipePaths(r).trained, e.global_step));
  });
}

execution::Evaluation evaluate_and_try_to_save(const Recipe& r) {
  return evaluate_and_keep(r, [&](const execution::Evaluation& e) {
    try {
      write_evaluation(r, e, mark_of(RecipePaths(r).trained, e.global_step));
    } catch (const Error& error) {
      log_warning("eval: the metrics could not be written: {}", error.what());
    }
  });
}

void follow_model(const Recipe& r,
                  const std::function<void(const execution::Evaluation&)>& on_evaluation) {
  RecipeFollower(r, on_evaluation).run();
}

}  // namespace smelt::pipeline
