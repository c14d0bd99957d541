// Metrics computed from counts over a batch. I rows.
#pragma once

#include <span>
#include <string>

#include "model/tasks/task.h"

namespace smelt {

// Returns the sum of the weights [I] of rows whose prediction equals the label, an f32 scalar.
Tensor count_hits(Tensor predicted, Tensor labels, Tensor weights);

// Returns the metric `hits` / `all` (f32 scalars), where `all` depends on the model. `weight` is
// the number of items it was computed from.
Metric share_of(std::string name, Tensor hits, Tensor all, Tensor weight);

// Returns the area under the ROC curve over all batches, like tf.metrics.auc: trapezoids over 200
// thresholds. Probabilities, labels (0 or 1) and weights are f32 [I].
Metric roc_auc(std::string name, Tensor probabilities, Tensor labels, Tensor weights);

}  // namespace smelt
