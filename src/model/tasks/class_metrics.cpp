#include "model/tasks/class_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::concatenate;
using compiler::ones_like;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::Tensor;
namespace {

struct Counts {
  explicit Counts(std::span<const double> all)
      : hits(all.first(all.size() / 3)),
        predicted(all.subspan(hits.size(), hits.size())),
        actual(all.last(hits.size())) {
    CHECK(3 * hits.size() == all.size(), all.size());
  }
  std::span<const double> hits, predicted, actual;
};

double sum(std::span<const double> of) { return std::accumulate(of.begin(), of.end(), 0.0); }

double product(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double f1(double hits, double predicted, double actual) {
  return predicted + actual == 0 ? 0 : 2 * hits / (predicted + actual);
}

}  // namespace

Tensor class_counts(Tensor predicted, Tensor actual, Tensor weights) {
  const Tensor weighted_is = einsum("ic,i->ic", actual, weights);
  return concatenate({reduce_sum(predicted * weighted_is, {0}),
                      einsum("ic,i->c", predicted, weights), reduce_sum(weighted_is, {0})},
                     0);
}

double macro_f1(std::span<const double> counts) {
  const Counts c(counts);
  double total = 0, classes = 0;
  for (std::size_t i = 0; i < c.hits.size(); ++i) {
    if (c.predicted[i] + c.actual[i] == 0) continue;
    total += f1(c.hits[i], c.predicted[i], c.actual[i]);
    ++classes;
  }
  return classes == 0 ? 0 : total / classes;
}

double f1_of_last(std::span<const double> counts) {
  const Counts c(counts);
  return f1(c.hits.back(), c.predicted.back(), c.actual.back());
}

double micro_f1(std::span<const double> counts) {
  const Counts c(counts);
  return f1(sum(c.hits), sum(c.predicted), sum(c.actual));
}

double matthews(std::span<const double> counts) {
  const Counts c(counts);
  const double n = sum(c.actual);
  const double both =
      (n * n - product(c.predicted, c.predicted)) * (n * n - product(c.actual, c.actual));
  return both <= 0 ? 0 : (sum(c.hits) * n - product(c.predicted, c.actual)) / std::sqrt(both);
}

Tensor moments(Tensor x, Tensor y, Tensor weights, double center) {
  std::vector<Tensor> sums;
  if (center != 0) {
    x = x - center;
    y = y - center;
  }
  for (const Tensor& t : {ones_like(x), x, y, square(x), square(y), x * y})
    sums.push_back(reshape(reduce_sum(t * weights, {0}), {1}));
  return concatenate(sums, 0);
}

double pearson(std::span<const double> m) {
  CHECK(m.size() == 6, m.size());
  const double n = m[0];
  const double xx = n * m[3] - m[1] * m[1], yy = n * m[4] - m[2] * m[2];
  const double xy = n * m[5] - m[1] * m[2];
  return xx <= 0 || yy <= 0 ? 0 : std::clamp(xy / std::sqrt(xx * yy), -1.0, 1.0);
}

}  // namespace smelt::model
