// Evaluation of a trained model on held-out examples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "checkpoint/interop/bert_gelu.h"
#include "execution/inference/scorer.h"
#include "execution/train_state/resume.h"
#include "model/tasks/task.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::execution {

struct EvaluateJob {
  model::Task task;
  std::int64_t batch_size = 32;  // over all devices
  model::DeviceConfig on = {};
  std::string data;        // path of the held-out examples, in the format of open_examples()
  std::string vocab = {};  // vocabulary file, which must match the model's; empty: not checked
  // Model folder (its latest checkpoint is evaluated) or the path of a checkpoint.
  std::string model_dir;
  std::int64_t steps = 0;   // number of batches; 0: all of `data`
  std::int64_t passes = 1;  // evaluations of each batch, each with other random draws
  bool as_original = false, repeats = false;  // see HeldOut
  // pretrained weights to evaluate if model_dir has no checkpoint; empty: none
  std::string init = {};
  bool averaged = true;          // evaluate the moving averages of the weights if there are any
  Fields fields = recipe_field;  // names of the settings in messages
};

// An open device with the compiled evaluation program, for any checkpoint of a model.
class Evaluator {
 public:
  // Throws UsageError if there are fewer examples than one batch, or if the batch size is not a
  // multiple of the number of devices.
  explicit Evaluator(const EvaluateJob& job);
  Evaluation operator()(const TrainedModel& model) const;
  // Evaluates pretrained weights (checkpoint/interop/pretrained_weights.h) and reports them as step
  // 0. Parameters that they do not contain are initialized randomly.
  Evaluation evaluate_pretrained(const std::string& init) const;
  const Scorer& scorer() const { return *scorer_; }

 private:
  checkpoint::BertGelu gelu_;  // of pretrained weights
  std::shared_ptr<const pjrt::Client> client_;
  std::unique_ptr<const Scorer> scorer_;
};

// Evaluates the job's model. Throws UsageError if there is neither a checkpoint nor `init`.
Evaluation evaluate(const EvaluateJob& job);

}  // namespace smelt::execution
