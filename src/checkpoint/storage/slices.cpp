#include "checkpoint/storage/slices.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace smelt::checkpoint {
namespace {

// Advances to the next index in row-major order. Returns false after the last one.
bool advance(compiler::Dims& index, const compiler::Dims& dims) {
  for (std::size_t i = index.size(); i-- > 0; index[i] = 0)
    if (++index[i] < dims[i]) return true;
  return false;
}

std::span<const std::byte> bytes_of(const TensorSlice& slice, Scratch& scratch) {
  if (!slice.put) return slice.part.data;
  const std::span<std::byte> bytes = scratch.of(slice.part.shape.size_bytes());
  slice.put(bytes);
  return bytes;
}

// Copies the overlap of the slice `from` and the box of shape `part` at `begin` to the box's buffer
// `to`.
void copy_shared(const TensorSlice& from, const compiler::Dims& begin, const compiler::Shape& part,
                 std::span<std::byte> to) {
  const compiler::Dims& held = from.part.shape.dims;
  const std::size_t rank = part.dims.size(), element = compiler::dtype_size_bytes(part.dtype);
  CHECK(held.size() == rank && from.part.shape.dtype == part.dtype, from.part.shape, " ", part);
  compiler::Dims size(rank), first_from(rank), first_to(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t first = std::max(from.begin[i], begin[i]);
    size[i] = std::min(from.begin[i] + held[i], begin[i] + part.dims[i]) - first;
    if (size[i] <= 0) return;
    first_from[i] = first - from.begin[i];
    first_to[i] = first - begin[i];
  }
  std::size_t rows = rank;  // number of leading dimensions outside the contiguous run
  std::size_t run = element;
  while (rows > 0) {
    --rows;
    run *= static_cast<std::size_t>(size[rows]);
    if (size[rows] != held[rows] || size[rows] != part.dims[rows]) break;
  }
  compiler::Dims index(rows);
  const auto offset = [&](const compiler::Dims& dims, const compiler::Dims& first) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < rank; ++i) at = at * dims[i] + first[i] + (i < rows ? index[i] : 0);
    return static_cast<std::size_t>(at) * element;
  };
  if (from.put && run == from.part.shape.size_bytes())
    return from.put(to.subspan(offset(part.dims, first_to), run));
  Scratch put;
  const std::span<const std::byte> given = bytes_of(from, put);
  do {
    std::memcpy(to.data() + offset(part.dims, first_to), given.data() + offset(held, first_from),
                run);
  } while (advance(index, size));
}

}  // namespace

SlicedTensors slices_of(const io::TensorMap& tensors) {
  SlicedTensors out;
  for (const auto& [name, view] : tensors)
    out.emplace_hint(
        out.end(), name,
        SlicedTensor{view.shape,
                     {{.begin = compiler::Dims(view.shape.dims.size()), .part = view}}});
  return out;
}

std::string slice_text(const compiler::Dims& begin, const compiler::Dims& dims) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto first = static_cast<std::uint64_t>(begin[i]);
    ranges.push_back(str(first, ":", first + static_cast<std::uint64_t>(dims[i])));
  }
  return str("[", join(ranges, ","), "]");
}

void copy_part(std::span<const TensorSlice> slices, const compiler::Dims& begin,
               const compiler::Shape& part, std::span<std::byte> to) {
  CHECK(to.size() == part.size_bytes(), part);
  for (const TensorSlice& slice : slices) copy_shared(slice, begin, part, to);
}

std::span<const std::byte> part_of(std::span<const TensorSlice> slices, const compiler::Dims& begin,
                                   const compiler::Shape& part, Scratch& scratch) {
  const auto same = std::ranges::find_if(slices, [&](const TensorSlice& slice) {
    return slice.begin == begin && slice.part.shape == part;
  });
  if (same != slices.end()) return bytes_of(*same, scratch);
  const std::span<std::byte> bytes = scratch.of(part.size_bytes());
  copy_part(slices, begin, part, bytes);
  return bytes;
}

io::TensorView whole(const SlicedTensor& tensor, Scratch& scratch) {
  return {tensor.shape,
          part_of(tensor.slices, compiler::Dims(tensor.shape.dims.size()), tensor.shape, scratch)};
}

}  // namespace smelt::checkpoint
