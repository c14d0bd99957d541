#include "compress/input_sums.h"

#include "compiler/ops/ops.h"
#include "compress/product_inputs.h"
#include "model/nn/einsum.h"

namespace smelt::compress {
namespace {

constexpr std::size_t kMostInputSums = std::size_t{1} << 25;  // doubles per pass

std::size_t sums_of(const ProductInput& input) {
  return static_cast<std::size_t>(input.columns * input.columns);
}

void take_together(const model::Task& task, const std::vector<ProductInput>& together,
                   const RowPass& pass, const std::function<void(InputSums sums)>& take) {
  std::vector<InputSums> out;
  for (const ProductInput& one : together)
    out.push_back({one.parameters, std::vector<double>(sums_of(one))});
  run_on_inputs(task, together, pass,
                {.outputs = 2,
                 .of =
                     [](const ProductInput&, compiler::Tensor rows, compiler::Tensor counts) {
                       const compiler::Tensor x = rows * counts;
                       return std::vector{
                           model::einsum("ta,tb->ab", x, x),
                           compiler::reshape(compiler::reduce_sum(counts, {0, 1}), {1})};
                     },
                 .take =
                     [&](std::size_t i, std::size_t output, std::span<const float> values) {
                       if (output == 1) {
                         out[i].rows += values[0];
                         return;
                       }
                       for (std::size_t at = 0; at < values.size(); ++at)
                         out[i].sums[at] += values[at];
                     }});
  for (InputSums& sums : out) take(std::move(sums));
}

}  // namespace

void each_input_sums(const model::Task& task, const std::vector<std::string>& parameters,
                     const RowPass& pass, const std::function<void(InputSums sums)>& take) {
  each_group(product_inputs(task, parameters, pass), sums_of, kMostInputSums,
             [&](const std::vector<ProductInput>& together) {
               take_together(task, together, pass, take);
             });
}

}  // namespace smelt::compress
