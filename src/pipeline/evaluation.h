// A recipe's model on its held-out examples: once, or each checkpoint as it appears.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "evaluation/tracking/run_record.h"
#include "execution/inference/evaluate.h"
#include "pipeline/objective_type.h"

namespace smelt {

// How a recipe's held-out examples are scored.
struct HeldOutBatches {
  std::int64_t size = 0;   // over all devices
  std::int64_t steps = 0;  // 0: all
  bool repeats = false;    // they are taken several times: fewer than devices
};
// Returns the batches for the records `data` by eval.batch_size and eval.steps. A batch is smaller
// if there are fewer examples than eval.batch_size. Throws UsageError if there are none.
HeldOutBatches held_out_batches(const Recipe& recipe, const Task& task, const std::string& data);

// {"global_step": …, "examples": …, "loss": …, every measure, "weights": {…}}
OrderedJson evaluation_json(const Evaluation& evaluation);
// Reads what evaluation_json() returned.
Evaluation evaluation_of_json(const OrderedJson& json);
// The lines of eval_results.txt, "name = value": global_step, loss, then every measure by name.
std::string evaluation_text(const Evaluation& evaluation);
// These lines under a title, what the type of model has to remark, and the verdict.
std::string evaluation_report(const Recipe& recipe, const Evaluation& evaluation);

// How the loss of a training run went, by the lines of its log.
struct LossCourse {
  CurvePoint best, last;  // of all lines
};
// Of the newest run in a model's folder; nullopt if it has logged no loss.
std::optional<LossCourse> loss_course(const std::string& model_dir);
// Whether the last loss is not finite or far above the best one: by more than half of that and 1.
bool has_diverged(const LossCourse& course);
// "verdict: diverged: …" if the run has, or if the loss of the evaluation is not finite; else
// empty.
std::string divergence_verdict(const std::optional<LossCourse>& course,
                               const Evaluation& evaluation, double learning_rate);

// Returns a sentence about the lowest held-out loss of the run's evaluations if the last one is
// more than a twentieth above it: the model memorizes its training text. Empty otherwise.
std::string overfitting_remark(const std::string& model_dir);

// Returns a sentence on whether the model is good, or not yet trained, against its type's baseline:
// good is better by more than three standard errors and a tenth of what the baseline gets right or
// wrong, whichever is less, or of losses by a twentieth. It says what to do; `overfits`: the
// held-out loss rises, so that more steps do not help. Empty if the type has no baseline.
std::string verdict(const BaselineMeasures& baseline, const Evaluation& evaluation,
                    bool overfits = false);
// Whether the model is clearly better than its type's baseline, by the rule of verdict(). nullopt
// if it has none.
std::optional<bool> is_clearly_better(const BaselineMeasures& baseline,
                                      const Evaluation& evaluation);

// Writes eval_results.txt in the original's form, eval_results.json, and a line of
// evaluations.jsonl (docs/reference/formats/metrics.md) into the model's folder; of eval.split test
// test_results.txt and test_results.json.
Evaluation evaluate_model(const Recipe& recipe);
// Warns where they cannot be written, as of a folder that may only be read.
Evaluation evaluate_and_try_to_keep(const Recipe& recipe);

// The same of each checkpoint that evaluations.jsonl does not tell of, the oldest first, as they
// appear; until that of the recipe's last step is told of, or a signal. `told` gets each.
void follow_model(const Recipe& recipe, const std::function<void(const Evaluation&)>& told);

}  // namespace smelt
