#include "data/batch.h"

namespace smelt {

Batch empty_batch(const Features& features, std::int64_t rows) {
  CHECK(rows >= 1, rows);
  Batch batch{.rows = rows, .arrays = {}};
  for (const Feature& feature : features) {
    Dims dims = feature.row;
    dims.insert(dims.begin(), rows);
    const Shape shape{feature.dtype, std::move(dims)};
    batch.arrays.push_back({shape, std::vector<std::byte>(shape.size_bytes())});
  }
  return batch;
}

}  // namespace smelt
