#include "compress/scaled_tensor.h"

#include <functional>

#include "base/error.h"
#include "checkpoint/interop/decoded.h"
#include "checkpoint/storage/lazy_files.h"

namespace smelt::compress {
namespace {

// Multiplies each value by factor_of(its index).
io::LazyTensor scaled(const io::LazyTensor& tensor,
                      const std::function<float(std::size_t at)>& factor_of) {
  const io::LazyTensor plain = checkpoint::as_dtype(tensor, compiler::DType::f32);
  const io::LazyTensor out{plain.shape, [plain, factor_of] {
                             auto values = checkpoint::read_values<float>(plain);
                             for (std::size_t i = 0; i < values.size(); ++i)
                               values[i] *= factor_of(i);
                             return checkpoint::bytes_of_values(values);
                           }};
  return checkpoint::as_dtype(out, tensor.shape.dtype);
}

}  // namespace

io::LazyTensor with_scaled_rows(const io::LazyTensor& tensor, std::vector<float> factors) {
  CHECK(tensor.shape.dims.at(0) == std::ssize(factors), tensor.shape, " ", factors.size());
  const auto of_row = static_cast<std::size_t>(tensor.shape.elements()) / factors.size();
  return scaled(tensor, [factors = std::move(factors), of_row](std::size_t i) {
    return factors[i / of_row];
  });
}

io::LazyTensor with_scaled_columns(const io::LazyTensor& matrix, std::vector<float> factors) {
  CHECK(matrix.shape.dims.at(1) == std::ssize(factors), matrix.shape, " ", factors.size());
  return scaled(matrix, [factors = std::move(factors)](std::size_t i) {
    return factors[i % factors.size()];
  });
}

}  // namespace smelt::compress
