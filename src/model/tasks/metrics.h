// Metrics computed from counts over a batch. I rows.
#pragma once

#include <span>
#include <string>

#include "model/tasks/task.h"

namespace smelt::model {

// Returns the sum of the weights [I] of rows whose prediction equals the label, an f32 scalar.
compiler::Tensor count_hits(compiler::Tensor predicted, compiler::Tensor labels,
                            compiler::Tensor weights);

// Returns a metric whose value is the sum of `hits` divided by the sum of `all` over all batches
// (f32 scalars), such as a precision. `weight` is the number of items in the batch.
Metric share_of(std::string name, compiler::Tensor hits, compiler::Tensor all,
                compiler::Tensor weight);

// Returns the area under the ROC curve over all batches, like tf.metrics.auc: trapezoids over 200
// thresholds. Probabilities, labels (0 or 1) and weights are f32 [I].
Metric roc_auc(std::string name, compiler::Tensor probabilities, compiler::Tensor labels,
               compiler::Tensor weights);

}  // namespace smelt::model
