#include "evaluation/metrics/correlation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace smelt::evaluation {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

void expect_pairs(std::span<const double> predicted, std::span<const double> wanted) {
  if (predicted.size() != wanted.size())
    throw UsageError(
        str("scores: ", predicted.size(), " predictions for ", wanted.size(), " references"),
        "give one prediction for each reference, in their order");
}

// Returns the ranks of the values, from 1; equal values share their mean rank.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> out(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      out[order[i]] = static_cast<double>(begin + end + 1) / 2;
  }
  return out;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

bool constant(std::span<const double> values) {
  return std::ranges::all_of(values, [&](double v) { return v == values[0]; });
}

}  // namespace

double pearson(std::span<const double> predicted, std::span<const double> wanted) {
  expect_pairs(predicted, wanted);
  if (wanted.size() < 2 || constant(predicted) || constant(wanted)) return kUndefined;
  const double mean_p = mean(predicted), mean_w = mean(wanted);
  double pp = 0, ww = 0, pw = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double p = predicted[i] - mean_p, w = wanted[i] - mean_w;
    pp += p * p;
    ww += w * w;
    pw += p * w;
  }
  return std::clamp(pw / (std::sqrt(pp) * std::sqrt(ww)), -1.0, 1.0);
}

double spearman(std::span<const double> predicted, std::span<const double> wanted) {
  return pearson(ranks(predicted), ranks(wanted));
}

double roc_auc(std::span<const double> scores, std::span<const double> wanted) {
  expect_pairs(scores, wanted);
  const std::vector<double> rank = ranks(scores);
  double positives = 0, sum = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] <= 0.5) continue;
    positives += 1;
    sum += rank[i];
  }
  const double negatives = static_cast<double>(wanted.size()) - positives;
  if (positives == 0 || negatives == 0) return kUndefined;
  return (sum - positives * (positives + 1) / 2) / (positives * negatives);
}

double roc_auc_of_classes(std::span<const std::vector<double>> scores,
                          std::span<const std::size_t> wanted, bool is_weighted) {
  double sum = 0, weights = 0;
  for (std::size_t c = 0; c < scores.size(); ++c) {
    std::vector<double> is;
    for (const std::size_t one : wanted) is.push_back(one == c ? 1 : 0);
    const double weight = is_weighted ? std::accumulate(is.begin(), is.end(), 0.0) : 1;
    if (weight == 0) continue;
    sum += weight * roc_auc(scores[c], is);
    weights += weight;
  }
  return weights == 0 ? kUndefined : sum / weights;
}

double average_precision_score(std::span<const double> scores, std::span<const double> wanted) {
  expect_pairs(scores, wanted);
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater<>(), [&](std::size_t i) { return scores[i]; });
  double hits = 0, sum = 0;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double new_hits = 0;
    while (end < order.size() && scores[order[end]] == scores[order[begin]])
      new_hits += wanted[order[end++]] >= 0.5 ? 1 : 0;
    hits += new_hits;
    sum += new_hits * hits / static_cast<double>(end);
  }
  return hits == 0 ? kUndefined : sum / hits;
}

double mean_squared_error(std::span<const double> predicted, std::span<const double> wanted) {
  expect_pairs(predicted, wanted);
  double sum = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    sum += (predicted[i] - wanted[i]) * (predicted[i] - wanted[i]);
  return wanted.empty() ? kUndefined : sum / static_cast<double>(wanted.size());
}

}  // namespace smelt::evaluation
