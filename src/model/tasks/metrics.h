// Counts over a batch that metrics are made of. I rows.
#pragma once

#include <span>
#include <string>

#include "model/tasks/task.h"

namespace smelt {

// The weights [I], added up, of rows where the prediction is the label: an f32 scalar.
Tensor count_hits(Tensor predicted, Tensor labels, Tensor weights);

// `hits` of `all`, both f32 scalars, where `all` depends on the model; `weight` says of how many
// items it was counted.
Metric share_of(std::string name, Tensor hits, Tensor all, Tensor weight);

// The area under the ROC curve (true over false positive rate) over everything that was counted, as
// tf.metrics.auc has it: by trapezoids over 200 thresholds. All f32 [I]: probabilities, labels of 0
// and 1, weights.
Metric roc_auc(std::string name, Tensor probabilities, Tensor labels, Tensor weights);

}  // namespace smelt
