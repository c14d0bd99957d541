// Tensors that are made of what a folder stores in their place: codes, packed words, bits; and
// values that such are made of.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/formats/int8_rows.h"
#include "io/formats/lazy_tensor.h"

namespace smelt {

// f32 of these dimensions, put by what `stored` reads for a layout; of a matrix transposed, too.
LazyTensor decoded(Dims dims, const std::function<PutBytes(Laid laid)>& stored);

template <class T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// f32 values of a tensor of any type of floats. UsageError, which `what` begins, where one is not
// finite.
std::vector<float> finite_values(const LazyTensor& tensor, const std::string& what);

}  // namespace smelt
