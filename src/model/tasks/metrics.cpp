#include "model/tasks/metrics.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::ceil;
using compiler::clamp;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::convert;
using compiler::DType;
using compiler::full_like;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

// Thresholds are k / 199, with the first one below 0 and the last one above 1. They divide
// probabilities into 199 bins; the bin is the number of inner thresholds below a probability.
constexpr std::int64_t kBins = 199;
constexpr double kRateEpsilon = 1e-6;  // as in tf.metrics.auc

// Returns the area under the ROC curve. `counts` contains the total weight of label 1 in each bin,
// followed by the total weight of label 0 in each bin.
double area(std::span<const double> counts) {
  CHECK(counts.size() == 2 * kBins, counts.size());
  double positives = 0, negatives = 0;
  for (std::size_t i = 0; i < kBins; ++i) {
    positives += counts[i];
    negatives += counts[kBins + i];
  }
  const auto rate = [](double hits, double all) {
    return (hits + kRateEpsilon) / (all + kRateEpsilon);
  };
  double above_p = positives, above_n = negatives, sum = 0;
  double x = negatives / (negatives + kRateEpsilon), y = rate(above_p, positives);
  for (std::size_t i = 0; i < kBins; ++i) {
    above_p -= counts[i];
    above_n -= counts[kBins + i];
    const double next_x = above_n / (negatives + kRateEpsilon), next_y = rate(above_p, positives);
    sum += (x - next_x) * (y + next_y) / 2;
    x = next_x;
    y = next_y;
  }
  return sum;
}

}  // namespace

Tensor count_hits(Tensor predicted, Tensor labels, Tensor weights) {
  const Tensor hit = compare(predicted, labels, Compare::eq);
  return reduce_sum(convert(hit, DType::f32) * weights, {0});
}

Metric share_of(std::string name, Tensor hits, Tensor all, Tensor weight) {
  return {
      .name = std::move(name),
      .sum = concatenate({reshape(hits, {1}), reshape(all, {1})}, 0),
      .weight = weight,
      .finish = [](std::span<const double> sums) { return sums[1] == 0 ? 0 : sums[0] / sums[1]; }};
}

Metric roc_auc(std::string name, Tensor probabilities, Tensor labels, Tensor weights) {
  const auto I = probabilities.dim(0);
  const Tensor last = full_like(probabilities, kBins - 1);
  const Tensor bin = clamp(zeros_like(last), ceil(probabilities * kBins) - 1.0, last);
  const Tensor counted = one_hot(convert(bin, DType::s32), kBins, DType::f32);
  const Tensor kinds = concatenate(
      {reshape(labels * weights, {1, I}), reshape((1.0 - labels) * weights, {1, I})}, 0);
  return {.name = std::move(name),
          .sum = reshape(einsum("ki,ib->kb", kinds, counted), {2 * kBins}),
          .weight = reduce_sum(weights, {0}),
          .finish = area};
}

}  // namespace smelt::model
