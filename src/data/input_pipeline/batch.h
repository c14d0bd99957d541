// A batch in host memory: one array for each feature of its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "io/formats/feature.h"

namespace smelt::data {

// An array in row-major order.
struct HostArray {
  compiler::Shape shape;  // first dimension: rows
  std::vector<std::byte> bytes;

  // Returns the values as a span. The size of T must match the element type.
  template <class T>
  std::span<T> values() {
    CHECK(sizeof(T) == compiler::dtype_size_bytes(shape.dtype), shape);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> values() const {
    CHECK(sizeof(T) == compiler::dtype_size_bytes(shape.dtype), shape);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

struct Batch {
  std::int64_t rows = 0;
  std::vector<HostArray> arrays;  // in the order of the features
  // The same sequences packed (data/input_pipeline/pack.h), or null. On several hosts it holds the
  // packed batch's rows of this host, which may be of other sequences.
  std::shared_ptr<const Batch> packed = {};
};

// Returns a batch of zeros.
Batch empty_batch(const io::Features& features, std::int64_t rows);

// Returns a copy of the batch. Features with `longest` values per row are truncated, or padded with
// zeros, to `length` values.
Batch with_length(const Batch& batch, const io::Features& features, std::int64_t longest,
                  std::int64_t length);

}  // namespace smelt::data
