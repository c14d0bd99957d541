#include "compress/mac_budget.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/number_format.h"

namespace smelt::compress {
namespace {

// Number of tokens that the matmuls for queries and for keys process.
struct ProductRows {
  double queries = 0, keys = 0;
};

ProductRows rows_of(const PruneTarget& product, const MacLengths& lengths) {
  const bool asks_text = product.output.find("EncDecAttention") != product.output.npos;
  const auto text = static_cast<double>(lengths.text), answer = static_cast<double>(lengths.answer);
  const double queries = product.of_decoder ? answer : text;
  return {queries, asks_text ? text : queries};
}

bool is_of_keys(const std::string& name) {
  return name.ends_with(".k.weight") || name.ends_with(".v.weight");
}

}  // namespace

double unit_macs(const CompressedFolder& folder, const PruneGroup& group,
                 const MacLengths& lengths) {
  const auto elements = [&](const std::string& name) {
    const compiler::Shape& shape = folder.tensors.at(name).shape;
    return shape.rank() == 2 ? static_cast<double>(shape.elements()) : 0.0;
  };
  double all = 0;
  for (const PruneTarget& product : group.products) {
    const ProductRows rows = rows_of(product, lengths);
    all += elements(product.output) * rows.queries;
    for (const std::string& name : product.inputs)
      all += elements(name) * (is_of_keys(name) ? rows.keys : rows.queries);
    if (group.width > 1)  // of heads
      all += 2 * rows.queries * rows.keys * static_cast<double>(group.width * group.units);
  }
  return all / static_cast<double>(group.units);
}

UnitCosts unit_costs(std::span<const std::vector<double>> importances, std::int64_t step,
                     double macs) {
  UnitCosts out{.units = std::ssize(importances.front()),
                .step = step,
                .macs = macs,
                .importance = std::vector<double>(importances.front().size() + 1)};
  for (std::vector<double> of_layer : std::vector(importances.begin(), importances.end())) {
    std::ranges::sort(of_layer, std::greater());
    double kept = 0;
    for (std::size_t i = 0; i < of_layer.size(); ++i) out.importance[i + 1] += kept += of_layer[i];
  }
  return out;
}

UnitCounts within_macs(const UnitCosts& heads, const UnitCosts& neurons, double macs) {
  UnitCounts best;
  double most = -1;
  for (std::int64_t h = heads.step; h <= heads.units; h += heads.step) {
    const double left = macs - static_cast<double>(h) * heads.macs;
    if (left < static_cast<double>(neurons.step) * neurons.macs) break;
    const auto steps =
        static_cast<std::int64_t>(left / (static_cast<double>(neurons.step) * neurons.macs));
    const std::int64_t n = std::min(steps * neurons.step, neurons.units);
    const double importance = heads.importance[static_cast<std::size_t>(h)] +
                              neurons.importance[static_cast<std::size_t>(n)];
    if (importance <= most) continue;
    most = importance;
    best = {h, n};
  }
  if (most >= 0) return best;
  const double all = static_cast<double>(heads.units) * heads.macs +
                     static_cast<double>(neurons.units) * neurons.macs;
  const double least = static_cast<double>(heads.step) * heads.macs +
                       static_cast<double>(neurons.step) * neurons.macs;
  throw UsageError(str("compress: --macs ", macs / all, " is too small: keeping only a head and ",
                       neurons.step, " neurons per layer already needs ", percent(least / all)),
                   "give a larger value");
}

}  // namespace smelt::compress
