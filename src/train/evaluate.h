// Evaluation of a trained model on examples that it has not seen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/task.h"
#include "train/placement.h"
#include "train/report.h"

namespace smelt {

struct EvaluateJob {
  Task task;
  std::int64_t batch_size = 32;  // over all devices
  std::int64_t devices = 1;
  MeshChoice mesh = {};
  ComputeChoice compute = {};
  std::string device = "cpu";
  std::string data;              // held out, as open_examples takes it
  std::string vocab = {};        // must be the one that the model was made with; empty: any
  std::string model_dir;         // its newest checkpoint is evaluated
  std::int64_t steps = 0;        // batches; 0 = all whole batches of `data`
  std::int64_t passes = 1;       // of each batch, with other draws
  Fields fields = recipe_field;  // what messages call them
};

struct Evaluation {
  std::int64_t global_step = 0;
  std::int64_t examples = 0;
  double loss = 0;                      // the mean of the batches' losses, as the original has it
  std::vector<MeasuredValue> measures;  // over all items of all batches: losses, then metrics

  // A name that the task has not is a bug.
  const MeasuredValue& measure(std::string_view name) const;
};

// UsageError when there is no checkpoint, fewer examples than one batch, or a batch that does not
// divide over the devices.
Evaluation evaluate(const EvaluateJob& job);

}  // namespace smelt
