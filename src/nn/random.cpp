#include "nn/random.h"

#include "base/error.h"
#include "base/philox.h"
#include "ops/ops.h"

namespace smelt {
namespace {

// Odd constants; the multipliers and shifts of the mixers are those of MurmurHash3's finaliser and
// of "lowbias32" (C. Wellons' search for mixers of low bias).
constexpr std::uint32_t kGolden = 0x9E3779B9;
struct Factors {
  std::uint32_t step, layer, stream;
};
constexpr Factors kOfElements{0xA511E9B3, 0x85EBCA6B, 0xC2B2AE35};
constexpr Factors kOfRows{0x63D83595, 0x27D4EB2F, 0x165667B1};

Tensor word(Graph& graph, std::uint32_t bits) {
  return constant(graph, static_cast<double>(bits), DType::u32);
}

Tensor times(Tensor x, std::uint32_t factor) { return x * word(x.graph(), factor); }

Tensor fold(Tensor x, int shift) {
  return bitwise_xor(x, shift_right_logical(x, full_like(x, shift)));
}

// A bijection of 32 bits in which every bit of x moves every bit.
Tensor mix(Tensor x) {
  return fold(times(fold(times(fold(x, 16), 0x85EBCA6B), 13), 0xC2B2AE35), 16);
}

Tensor as_word(Tensor t) { return convert(t, DType::u32); }

// A key of 32 bits for this place, step, layer and stream: a plain sum, since rows' keys are mixed
// and each element's number with them.
Tensor place_key(const Scope& s, std::uint32_t place, const Factors& by) {
  const RandomSource& source = *s.random_source();
  Tensor key = times(as_word(source.step), by.step) + word(s.graph(), place);
  if (s.layer()) key = key + times(as_word(s.layer()), by.layer);
  if (source.stream) key = key + times(as_word(source.stream), by.stream);
  return key;
}

// 0, 1, … along an axis: [1, …, dims[axis], …, 1].
Tensor counted(Graph& graph, const Dims& dims, std::size_t axis) {
  Dims alone(dims.size(), 1);
  alone[axis] = dims[axis];
  return iota(graph, {DType::u32, alone}, static_cast<std::int64_t>(axis));
}

// A key for each row of the batch: [rows, 1, …].
Tensor row_keys(const Scope& s, const Dims& dims, Tensor key) {
  const RandomSource& source = *s.random_source();
  Tensor row = times(counted(s.graph(), dims, 0), static_cast<std::uint32_t>(source.row_stride));
  if (source.first_row) row = row + as_word(source.first_row);
  return mix(times(row, kGolden) + key);
}

// The key plus the number of each element within its row, times an odd constant. What the last axis
// does not change is added up first, or each element would take a product for each axis.
Tensor element_numbers(Tensor key, const Dims& dims, const std::optional<Block>& block) {
  std::vector<Tensor> of_axes;
  std::uint64_t stride = 1;
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) {
    const bool cut = block && block->axis == static_cast<std::int64_t>(axis);
    Tensor number = counted(key.graph(), dims, axis);
    if (cut) number = number + as_word(block->first);
    of_axes.push_back(times(number, static_cast<std::uint32_t>(stride * kGolden)));
    stride *= static_cast<std::uint64_t>(cut ? block->whole : dims[axis]);
  }
  Tensor sum = key;
  for (; of_axes.size() > 1; of_axes.pop_back()) sum = sum + of_axes.back();
  if (!of_axes.empty()) sum = broadcast_to(sum, dims) + broadcast_to(of_axes[0], dims);
  return sum;
}

}  // namespace

Tensor random_bits(const Scope& s, const Dims& dims, const std::optional<Block>& block) {
  CHECK(s.random_source(), s.path(), " draws without a source of random numbers");
  CHECK(!dims.empty());
  const std::uint64_t key = random_key(s.random_source()->seed, s.place());
  const Tensor first = place_key(s, static_cast<std::uint32_t>(key), kOfElements);
  const Tensor second = place_key(s, static_cast<std::uint32_t>(key >> 32), kOfRows);
  Tensor x = fold(element_numbers(first, dims, block), 16);
  x = times(bitwise_xor(x, row_keys(s, dims, second)), 0x7FEB352D);
  return fold(times(fold(x, 15), 0x846CA68B), 16);
}

Tensor uniform(const Scope& s, const Dims& dims) {
  const Tensor bits = random_bits(s, dims);
  return convert(shift_right_logical(bits, full_like(bits, 8)), DType::f32) * 0x1p-24;
}

}  // namespace smelt
