// A batch in host memory: one array for each feature of its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
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
  // The packed form of the batch (data/input_pipeline/pack.h), or null. In a multi-host run it may
  // contain other sequences than this host's part of the unpacked batch.
  std::shared_ptr<const Batch> packed = {};
};

// Returns the index of a feature, and of its array in a batch. An unknown name is a bug.
std::size_t find_feature(const io::Features& features, std::string_view name);

// Returns the rows [first, last) of a batch, without its packed form.
Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t last);

// Returns a batch of zeros.
Batch empty_batch(const io::Features& features, std::int64_t rows);

// Returns a copy of the batch. Features with `longest` values per row are truncated, or padded with
// zeros, to `length` values.
Batch with_length(const Batch& batch, const io::Features& features, std::int64_t longest,
                  std::int64_t length);

}  // namespace smelt::data
