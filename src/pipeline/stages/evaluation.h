// Evaluates a recipe's model on its held-out examples: once, or each checkpoint as it appears.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "evaluation/tracking/run_record.h"
#include "execution/inference/evaluate.h"
#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

// Batches of a recipe's held-out examples.
struct HeldOutBatches {
  std::int64_t size = 0;   // examples per batch, over all devices
  std::int64_t steps = 0;  // batches; 0: all
  bool repeats = false;    // examples are repeated because there are fewer than devices
};
// Returns the batches of the records `data`, from eval.batch_size and eval.steps. A batch is
// smaller if there are fewer examples than eval.batch_size. Throws UsageError if the records are
// empty.
HeldOutBatches held_out_batches(const Recipe& recipe, const model::Task& task,
                                const std::string& data);

// Returns {"global_step": …, "examples": …, "loss": …, every metric, "weights": {…}}.
OrderedJson evaluation_json(const execution::Evaluation& evaluation);
// Parses the result of evaluation_json().
execution::Evaluation evaluation_of_json(const OrderedJson& json);
// Returns the lines of eval_results.txt, "name = value": global_step, loss, then every metric by
// name.
std::string evaluation_text(const execution::Evaluation& evaluation);
// Returns the lines of evaluation_text() with a title, the remark of the type of model, and the
// verdict.
std::string evaluation_report(const Recipe& recipe, const execution::Evaluation& evaluation);

// The lowest and the last training loss of a run, from its log.
struct LossTrend {
  evaluation::CurvePoint best, last;  // over all log lines
};
// Returns the losses of the newest run in a model folder; nullopt if it has logged no loss.
std::optional<LossTrend> loss_course(const std::string& model_dir);
// Returns whether the last loss is not finite or exceeds the best one by more than half of it and
// by more than 1.
bool has_diverged(const LossTrend& course);
// Returns "verdict: diverged: …" if the run has diverged or the loss of the evaluation is not
// finite; otherwise an empty string.
std::string divergence_verdict(const std::optional<LossTrend>& course,
                               const execution::Evaluation& evaluation, double learning_rate);

// Returns a sentence about overfitting if the last held-out loss of the run's evaluations is more
// than 5 % above the lowest one; otherwise an empty string.
std::string overfitting_remark(const std::string& model_dir);

// Returns a sentence on whether the model is good or not yet trained, relative to its type's
// baseline, and what to do. A model is good if its accuracy exceeds the baseline's by more than
// three standard errors and by more than a tenth of the baseline's accuracy or error rate,
// whichever is smaller. If the baseline is a loss, a model is good if its loss is below 95 % of it.
// `overfits`: the held-out loss rises, so that more steps do not help. Empty if the type has no
// baseline.
std::string verdict(const BaselineMeasures& baseline, const execution::Evaluation& evaluation,
                    bool overfits = false);
// Returns whether the model is clearly better than its type's baseline by the rule of verdict().
// nullopt if the type has no baseline.
std::optional<bool> is_clearly_better(const BaselineMeasures& baseline,
                                      const execution::Evaluation& evaluation);

// Evaluates the model and writes eval_results.txt in the original program's format,
// eval_results.json, and a line of evaluations.jsonl (docs/reference/formats/metrics.md) into the
// model folder. With eval.split test, writes test_results.txt and test_results.json.
execution::Evaluation evaluate_model(const Recipe& recipe);
// Same as evaluate_model(), but only logs a warning if the files cannot be written, such as in a
// read-only folder.
execution::Evaluation evaluate_and_try_to_save(const Recipe& recipe);

// Evaluates each checkpoint that is not in evaluations.jsonl, the oldest first, and waits for new
// ones. Returns after the recipe's last step or a signal. Calls `on_evaluation` with each
// evaluation.
void follow_model(const Recipe& recipe,
                  const std::function<void(const execution::Evaluation&)>& on_evaluation);

}  // namespace smelt::pipeline
