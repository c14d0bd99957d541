// Tensors that are decoded when they are read: a folder stores them as quantized values, packed
// words or bitmasks. Also two helpers for the code that writes these forms.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/formats/int8_rows.h"
#include "io/formats/lazy_tensor.h"

namespace smelt::checkpoint {

// Returns an f32 tensor of shape `dims` that is decoded each time it is read. `stored(laid)` reads
// the stored form and returns a function that writes the decoded values to a buffer; for a matrix,
// `laid` may request the transpose.
io::LazyTensor decoded(compiler::Dims dims,
                       const std::function<io::PutBytes(io::Laid laid)>& stored);

// Returns the bytes of `values`.
template <class T>
std::vector<std::byte> bytes_of_values(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

// Returns a floating-point tensor as f32. Throws UsageError that begins with `what` if a value is
// not finite.
std::vector<float> finite_values(const io::LazyTensor& tensor, const std::string& what);

}  // namespace smelt::checkpoint
