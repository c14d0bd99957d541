#include "compress/input_ranges.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "compress/product_inputs.h"

namespace smelt::compress {
namespace {

constexpr std::size_t kMostNumbers = std::size_t{1} << 28;  // f32 values of a batch

std::size_t numbers_of(const ProductInput& input) {
  return static_cast<std::size_t>(input.tokens * input.columns);
}

// Returns |x| of tokens, divided by the channels' factors; -1 for padding.
compiler::Tensor magnitudes(const ProductInput& input, const ChannelNumbers& factors,
                            compiler::Tensor rows, compiler::Tensor counts) {
  compiler::Tensor all = compiler::abs(rows);
  if (const auto found = factors.find(input.parameters.front()); found != factors.end()) {
    const std::vector<double> by(found->second.begin(), found->second.end());
    all = all / compiler::constant(rows.graph(), by, {compiler::DType::f32, {1, input.columns}});
  }
  return all * counts + (counts - 1.0);
}

void check_finite(float most, const ProductInput& input, const std::string& where) {
  if (!std::isfinite(most))
    throw UsageError(str("compress: ", where, ": the input of ", input.parameters.front(),
                         " contains NaN or infinity"),
                     "use a model whose activations are finite for these rows");
}

}  // namespace

ChannelNumbers channel_maxima(const model::Task& task, const std::vector<std::string>& parameters,
                              const RowPass& pass) {
  const std::vector<ProductInput> inputs = product_inputs(task, parameters, pass);
  std::vector<std::vector<float>> most;
  for (const ProductInput& input : inputs)
    most.emplace_back(static_cast<std::size_t>(input.columns));
  run_on_inputs(task, inputs, pass,
                {.of =
                     [](const ProductInput&, compiler::Tensor rows, compiler::Tensor counts) {
                       return std::vector{compiler::reduce_max(compiler::abs(rows) * counts, {0})};
                     },
                 .take =
                     [&](std::size_t i, std::size_t, std::span<const float> values) {
                       for (const float x : values) check_finite(x, inputs[i], pass.where);
                       std::ranges::transform(most[i], values, most[i].begin(),
                                              [](float a, float b) { return std::max(a, b); });
                     }});
  ChannelNumbers out;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const std::string& parameter : inputs[i].parameters) out[parameter] = most[i];
  return out;
}

std::map<std::string, AbsHistogram> input_histograms(const model::Task& task,
                                                     const std::vector<std::string>& parameters,
                                                     const ChannelNumbers& factors,
                                                     const RowPass& pass) {
  std::map<std::string, AbsHistogram> out;
  each_group(product_inputs(task, parameters, pass), numbers_of, kMostNumbers,
             [&](const std::vector<ProductInput>& together) {
               std::vector<AbsHistogram> found(together.size());
               run_on_inputs(task, together, pass,
                             {.of =
                                  [&](const ProductInput& input, compiler::Tensor rows,
                                      compiler::Tensor counts) {
                                    return std::vector{magnitudes(input, factors, rows, counts)};
                                  },
                              .take =
                                  [&](std::size_t i, std::size_t, std::span<const float> values) {
                                    found[i].add(values);
                                    check_finite(found[i].most, together[i], pass.where);
                                  }});
               for (std::size_t i = 0; i < together.size(); ++i)
                 for (const std::string& parameter : together[i].parameters)
                   out[parameter] = found[i];
             });
  return out;
}

}  // namespace smelt::compress
