// Scales the rows or columns of a matrix [R,C], or the elements of a vector [R].
#pragma once

#include <vector>

#include "io/formats/lazy_tensor.h"

namespace smelt::compress {

// Return the tensor with each row or column multiplied by its factor. The products are computed in
// f32 when the result is read, and rounded to the tensor's type.
io::LazyTensor with_scaled_rows(const io::LazyTensor& tensor, std::vector<float> factors);
io::LazyTensor with_scaled_columns(const io::LazyTensor& matrix, std::vector<float> factors);

}  // namespace smelt::compress
