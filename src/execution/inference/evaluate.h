// Evaluation of a trained model on examples that it has not seen.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "execution/inference/scorer.h"
#include "execution/train_state/resume.h"
#include "model/tasks/task.h"
#include "model/train_step/sharding_plan.h"

namespace smelt {

struct EvaluateJob {
  Task task;
  std::int64_t batch_size = 32;  // over all devices
  DeviceConfig on = {};
  std::string data;         // held out, as open_examples takes it
  std::string vocab = {};   // must be the one that the model was made with; empty: any
  std::string model_dir;    // its newest checkpoint is evaluated, or this one
  std::int64_t steps = 0;   // batches; 0: all of `data`
  std::int64_t passes = 1;  // of each batch, with other draws
  bool as_original = false, repeats = false;  // as HeldOut has them
  std::string init = {};  // weights to evaluate where model_dir has no checkpoint; empty: none
  bool averaged = true;   // as load_trained_model has it
  Fields fields = recipe_field;  // what messages call them
};

// An open device with the job's program, for any of a model's checkpoints.
class Evaluator {
 public:
  // UsageError for fewer examples than one batch, or a batch that does not divide over the devices.
  explicit Evaluator(const EvaluateJob& job);
  Evaluation operator()(const TrainedModel& model) const;
  // Scores weights for another run (checkpoint/interop/pretrained_weights.h), as step 0; what they
  // lack is fresh.
  Evaluation of_given(const std::string& init) const;
  const Scorer& scorer() const { return *scorer_; }

 private:
  std::shared_ptr<const Client> client_;
  std::unique_ptr<const Scorer> scorer_;
};

// UsageError when there is no checkpoint, too.
Evaluation evaluate(const EvaluateJob& job);

}  // namespace smelt
