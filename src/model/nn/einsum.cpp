#include "model/nn/einsum.h"

#include <string>

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::Dims;
using compiler::dot_general;
using compiler::DotDims;
using compiler::DType;
using compiler::Tensor;
using compiler::transpose;
namespace {

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

std::int64_t axis_of(std::string_view letters, char letter) {
  const auto axis = letters.find(letter);
  CHECK(axis != std::string_view::npos, "einsum letter ", letter, " in ", letters);
  return static_cast<std::int64_t>(axis);
}

}  // namespace

Tensor einsum(std::string_view pattern, Tensor a, Tensor b, std::optional<DType> result) {
  const auto comma = pattern.find(','), arrow = pattern.find("->");
  CHECK(comma != std::string_view::npos && arrow != std::string_view::npos, pattern);
  const std::string_view in_a = pattern.substr(0, comma);
  const std::string_view in_b = pattern.substr(comma + 1, arrow - comma - 1);
  const std::string_view out = pattern.substr(arrow + 2);
  CHECK(std::ssize(in_a) == a.rank() && std::ssize(in_b) == b.rank(), pattern, " of ", a.shape(),
        " and ", b.shape());
  DotDims dims;
  std::string batch, free_a, free_b;
  for (std::int64_t i = 0; i < a.rank(); ++i) {
    const char letter = in_a[static_cast<std::size_t>(i)];
    if (!has(in_b, letter)) {
      free_a += letter;
      continue;
    }
    const std::int64_t j = axis_of(in_b, letter);
    if (a.dim(i) != b.dim(j))
      throw UsageError(str("einsum ", pattern, ": dimension ", letter, " is ", a.dim(i), " in ",
                           a.shape(), " and ", b.dim(j), " in ", b.shape()));
    (has(out, letter) ? dims.batch_a : dims.contract_a).push_back(i);
    (has(out, letter) ? dims.batch_b : dims.contract_b).push_back(j);
    if (has(out, letter)) batch += letter;
  }
  for (const char letter : in_b)
    if (!has(in_a, letter)) free_b += letter;

  const Tensor product = dot_general(a, b, dims, result);  // batch, free of a, free of b
  const std::string have = batch + free_a + free_b;
  CHECK(have.size() == out.size(), pattern);
  if (have == out) return product;
  Dims permutation;
  for (const char letter : out) permutation.push_back(axis_of(have, letter));
  return transpose(product, permutation);
}

}  // namespace smelt::model
