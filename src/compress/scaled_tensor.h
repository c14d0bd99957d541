// A matrix [R,C], or a vector [R], times a factor for each row or column.
#pragma once

#include <vector>

#include "io/formats/lazy_tensor.h"

namespace smelt {

// Both are made when they are read: products in f32, of the type that the tensor has.
LazyTensor with_scaled_rows(const LazyTensor& tensor, std::vector<float> factors);
LazyTensor with_scaled_columns(const LazyTensor& matrix, std::vector<float> factors);

}  // namespace smelt
