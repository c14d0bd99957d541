// Scales the rows or columns of a matrix [R,C], or the elements of a vector [R].
#pragma once

#include <vector>

#include "io/formats/lazy_tensor.h"

namespace smelt::compress {

// The result is computed in f32 when it is read, and has the tensor's type.
io::LazyTensor with_scaled_rows(const io::LazyTensor& tensor, std::vector<float> factors);
io::LazyTensor with_scaled_columns(const io::LazyTensor& matrix, std::vector<float> factors);

}  // namespace smelt::compress
