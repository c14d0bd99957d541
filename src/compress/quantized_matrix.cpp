#include "compress/quantized_matrix.h"

#include <cmath>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/interop/int4_weights.h"
#include "checkpoint/interop/int8_weights.h"
#include "checkpoint/storage/lazy_files.h"
#include "compress/gptq.h"
#include "compress/product_inputs.h"
#include "compress/prune_data.h"
#include "io/formats/int8_rows.h"

namespace smelt::compress {
namespace {

std::string named(const std::string& module, const std::string& where) {
  return str("compress: ", where, ": '", module, ".weight'");
}

void check_groups(const Matrices& matrices, std::int64_t group, const std::string& where) {
  std::int64_t common = 0;
  for (const auto& [module, matrix] : matrices) common = std::gcd(common, matrix.shape.dims.at(1));
  for (const auto& [module, matrix] : matrices)
    if (group < io::kCodesOfWord || group % io::kCodesOfWord != 0 ||
        matrix.shape.dims[1] % group != 0)
      throw UsageError(
          str(named(module, where), " is ", matrix.shape, ", cannot divide its columns into ",
              "groups of ", group),
          str("give --group a multiple of ", io::kCodesOfWord, " that divides ", common));
}

QuantizedMatrix of_groups(const io::Int4Groups& codes, const io::LazyTensor& matrix) {
  const std::int64_t rows = matrix.shape.dims[0];
  const auto held = std::make_shared<const io::Int4Groups>(codes);
  const auto size = static_cast<std::size_t>(matrix.shape.elements());
  return {.tensors = checkpoint::packed_tensors(*held, rows),
          .rows = rows,
          .dequantized = [held, rows, size] {
            std::vector<float> out(size);
            io::put_int4_values(held->words, held->scales, static_cast<std::size_t>(rows), out);
            return out;
          }};
}

}  // namespace

QuantizedMatrix to_int8(const io::LazyTensor& matrix, const std::string& what) {
  const checkpoint::QuantizedTensor codes = checkpoint::coded(matrix, what);
  return {.tensors = {{"", codes.codes}, {checkpoint::kScaleSuffix, codes.scales}},
          .rows = matrix.shape.dims[0],
          .dequantized = [codes] {
            const auto scales = checkpoint::read_values<float>(codes.scales);
            return io::int8_values(checkpoint::read_values<std::int8_t>(codes.codes), scales,
                                   scales.size());
          }};
}

QuantizedMatrices to_int4_nearest(const Matrices& matrices, std::int64_t group,
                                  const std::string& where) {
  check_groups(matrices, group, where);
  QuantizedMatrices out;
  for (const auto& [module, matrix] : matrices)
    out.emplace(module,
                of_groups(io::int4_groups(checkpoint::finite_values(matrix, named(module, where)),
                                          static_cast<std::size_t>(matrix.shape.dims[0]),
                                          static_cast<std::size_t>(group)),
                          matrix));
  return out;
}

QuantizedMatrices to_int4_gptq(const PruneRows& rows, const Matrices& matrices, std::int64_t group,
                               const std::string& where) {
  check_groups(matrices, group, where);
  std::map<std::string, std::string> modules;  // module names by parameter name
  std::vector<std::string> parameters;
  for (const auto& [module, matrix] : matrices) {
    parameters.push_back(kernel_of(module));
    modules[parameters.back()] = module;
  }
  QuantizedMatrices out;
  rows.each_input(parameters, [&](InputSums of) {
    const auto columns = static_cast<std::size_t>(std::lround(std::sqrt(of.sums.size())));
    std::vector<bool> dead(columns);
    for (double& sum : of.sums) sum *= 2 / of.rows;
    for (std::size_t i = 0; i < columns; ++i) dead[i] = of.sums[i * columns + i] == 0;
    gptq_triangle(of.sums, columns, available_threads());
    for (const std::string& parameter : of.parameters) {
      const std::string& module = modules.at(parameter);
      const io::LazyTensor& matrix = matrices.at(module);
      const auto values = checkpoint::finite_values(matrix, named(module, where));
      out.emplace(module,
                  of_groups(gptq_groups(values, static_cast<std::size_t>(matrix.shape.dims[0]),
                                        static_cast<std::size_t>(group), of.sums, dead,
                                        available_threads()),
                            matrix));
    }
  });
  return out;
}

}  // namespace smelt::compress
