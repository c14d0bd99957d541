#include "data/input_pipeline/batch.h"

#include <algorithm>

namespace smelt::data {

std::size_t find_feature(const io::Features& features, std::string_view name) {
  const auto found = std::ranges::find(features, name, &io::Feature::name);
  CHECK(found != features.end(), name);
  return static_cast<std::size_t>(found - features.begin());
}

Batch rows_of(const Batch& batch, std::int64_t first, std::int64_t last) {
  Batch out{.rows = last - first, .arrays = {}};
  for (const HostArray& array : batch.arrays) {
    const auto row = static_cast<std::int64_t>(array.bytes.size()) / batch.rows;
    compiler::Shape shape = array.shape;
    shape.dims[0] = out.rows;
    out.arrays.push_back(
        {shape, {array.bytes.begin() + first * row, array.bytes.begin() + last * row}});
  }
  return out;
}

Batch empty_batch(const io::Features& features, std::int64_t rows) {
  CHECK(rows >= 1, rows);
  Batch batch{.rows = rows, .arrays = {}};
  for (const io::Feature& feature : features) {
    compiler::Dims dims = feature.row;
    dims.insert(dims.begin(), rows);
    const compiler::Shape shape{feature.dtype, std::move(dims)};
    batch.arrays.push_back({shape, std::vector<std::byte>(shape.size_bytes())});
  }
  return batch;
}

Batch with_length(const Batch& batch, const io::Features& features, std::int64_t longest,
                  std::int64_t length) {
  Batch out{.rows = batch.rows, .arrays = {}};
  for (std::size_t i = 0; i < features.size(); ++i) {
    const HostArray& from = batch.arrays[i];
    if (!io::has_tokens(features[i], longest)) {
      out.arrays.push_back(from);
      continue;
    }
    HostArray to{from.shape, {}};
    to.shape.dims.back() = length;
    to.bytes.resize(to.shape.size_bytes());
    const auto texts = static_cast<std::size_t>(from.shape.elements() / from.shape.dims.back());
    const std::size_t old_row = from.bytes.size() / texts, new_row = to.bytes.size() / texts;
    for (std::size_t text = 0; text < texts; ++text)
      std::copy_n(from.bytes.begin() + static_cast<std::ptrdiff_t>(text * old_row),
                  std::min(old_row, new_row),
                  to.bytes.begin() + static_cast<std::ptrdiff_t>(text * new_row));
    out.arrays.push_back(std::move(to));
  }
  return out;
}

}  // namespace smelt::data
