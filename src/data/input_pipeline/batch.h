// A batch on the host: one array for each feature of its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "io/formats/feature.h"

namespace smelt {

// Row-major values.
struct HostArray {
  Shape shape;  // the rows first
  std::vector<std::byte> bytes;

  // An element of another size is a bug.
  template <class T>
  std::span<T> values() {
    CHECK(sizeof(T) == dtype_size_bytes(shape.dtype), shape);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> values() const {
    CHECK(sizeof(T) == dtype_size_bytes(shape.dtype), shape);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

struct Batch {
  std::int64_t rows = 0;
  std::vector<HostArray> arrays;  // in the features' order
};

// All zeros.
Batch empty_batch(const Features& features, std::int64_t rows);

// With the first `length` values of each row of the features that have `longest` of them a row, or,
// where `length` is more, with zeros behind them.
Batch with_length(const Batch& batch, const Features& features, std::int64_t longest,
                  std::int64_t length);

}  // namespace smelt
