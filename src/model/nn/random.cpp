#include "model/nn/random.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/philox.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::bitcast_convert;
using compiler::bitwise_xor;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::gather_rows;
using compiler::Graph;
using compiler::iota;
using compiler::reshape;
using compiler::shift_right_logical;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::transpose;
namespace {

// Factors of the hash; they are odd, so that multiplication is invertible. The multipliers and
// shifts of the mixers are those of MurmurHash3's finalizer and of C. Wellons' "lowbias32".
constexpr std::uint32_t kGolden = 0x9E3779B9, kOuterAxes = 0xB5297A4D;
struct Factors {
  std::uint32_t step, layer, stream;
};
constexpr Factors kElementFactors{0xA511E9B3, 0x85EBCA6B, 0xC2B2AE35};
constexpr Factors kRowFactors{0x63D83595, 0x27D4EB2F, 0x165667B1};

Tensor word(Graph& graph, std::uint32_t bits) {
  return constant(graph, static_cast<double>(bits), DType::u32);
}

Tensor times(Tensor x, std::uint32_t factor) { return x * word(x.graph(), factor); }

Tensor fold(Tensor x, int shift) {
  return bitwise_xor(x, shift_right_logical(x, full_like(x, shift)));
}

// Applies a bijection on 32 bits in which every input bit affects every output bit.
Tensor mix(Tensor x) {
  return fold(times(fold(times(fold(x, 16), 0x85EBCA6B), 13), 0xC2B2AE35), 16);
}

Tensor as_word(Tensor t) { return convert(t, DType::u32); }

// Returns the two key words of the scope's place: constants, or two words of SeedKeys::words.
std::array<Tensor, 2> place_words(const Scope& s) {
  const RandomSource& source = *s.random_source();
  if (!source.keys) {
    const std::uint64_t key = random_key(source.seed, s.place());
    return {word(s.graph(), static_cast<std::uint32_t>(key)),
            word(s.graph(), static_cast<std::uint32_t>(key >> 32))};
  }
  auto& places = source.keys->places;
  const auto found = std::ranges::find(places, s.place());
  const auto first = 2 * (found - places.begin());
  if (found == places.end()) places.push_back(s.place());
  CHECK(places.size() <= SeedKeys::kMostPlaces, s.place(),
        ": too many places that draw random numbers");
  const auto at = [&](std::int64_t i) {
    return reshape(slice_axis(s.graph().capture(source.keys->words), 0, i, i + 1), {});
  };
  return {at(first), at(first + 1)};
}

// Returns a 32-bit key for this use of random numbers in the program (`place`), step, layer and
// stream. A plain sum is enough because the
// keys of rows and elements are mixed later.
Tensor place_key(const Scope& s, Tensor place, const Factors& by) {
  const RandomSource& source = *s.random_source();
  Tensor key = times(as_word(source.step), by.step) + place;
  if (s.layer()) key = key + times(as_word(s.layer()), by.layer);
  if (source.stream) key = key + times(as_word(source.stream), by.stream);
  return key;
}

// Returns 0, 1, … along an axis: [1, …, dims[axis], …, 1].
Tensor axis_index(Graph& graph, const Dims& dims, std::size_t axis) {
  Dims alone(dims.size(), 1);
  alone[axis] = dims[axis];
  return iota(graph, {DType::u32, alone}, static_cast<std::int64_t>(axis));
}

// The indices of elements along the axes of a tensor. In packed rows, the index along an axis of
// tokens is the token's position in its sequence.
class ElementIndex {
 public:
  ElementIndex(const Scope& s, const Dims& dims, const std::optional<Block>& block)
      : s_(s), dims_(dims), block_(block), source_(*s.random_source()) {
    if (source_.tokens) CHECK(dims.size() == 3 || dims.size() == 4, dims.size(), " axes");
  }

  // Returns the number of each row in the whole batch: [rows, 1, …], or one number per token.
  Tensor row() const {
    if (source_.tokens) return of_token(source_.tokens->rows, first_token_axis());
    if (source_.rows) {
      Dims dims(dims_.size(), 1);
      dims[0] = dims_[0];
      return as_word(reshape(s_.graph().capture(source_.rows), dims));
    }
    const Tensor row =
        times(axis_index(s_.graph(), dims_, 0), static_cast<std::uint32_t>(source_.row_stride));
    return source_.first_row ? row + as_word(source_.first_row) : row;
  }
  // Returns the index along an axis other than the rows.
  Tensor along(std::size_t axis) const {
    if (source_.tokens && is_of_tokens(axis)) return of_token(source_.tokens->positions, axis);
    const Tensor index = axis_index(s_.graph(), dims_, axis);
    return is_cut(axis) ? index + as_word(block_->first) : index;
  }
  // Returns the number of indices along an axis of the whole tensor.
  std::uint64_t size(std::size_t axis) const {
    return static_cast<std::uint64_t>(is_cut(axis) ? block_->whole : dims_[axis]);
  }

 private:
  bool is_cut(std::size_t axis) const {
    return block_ && block_->axis == static_cast<std::int64_t>(axis);
  }
  // The tokens of [R,S,...], or the queries of [R,N,Q,S].
  std::size_t first_token_axis() const { return dims_.size() == 3 ? 1 : 2; }
  bool is_of_tokens(std::size_t axis) const {
    return axis == first_token_axis() || (dims_.size() == 4 && axis == 3);
  }
  // Returns `values` [R,S] as a tensor that varies along the rows and `axis`.
  Tensor of_token(Tensor values, std::size_t axis) const {
    Tensor own = s_.graph().capture(values);
    if (is_cut(axis)) {
      const Tensor at = iota(s_.graph(), {DType::s32, {dims_[axis]}}, 0) + block_->first;
      own = transpose(gather_rows(transpose(own, {1, 0}), at), {1, 0});
    }
    Dims dims(dims_.size(), 1);
    dims[0] = dims_[0];
    dims[axis] = dims_[axis];
    return as_word(reshape(own, dims));
  }

  const Scope& s_;
  const Dims& dims_;
  const std::optional<Block>& block_;
  const RandomSource& source_;
};

// Returns a key for each element of a row: the sum of a mixed key of the element's index along the
// last axis and a mixed key of its indices along the earlier axes. Mixing is thus not done per
// element, only the sum.
Tensor element_keys(Tensor key, const Dims& dims, const ElementIndex& index) {
  std::vector<Tensor> of_axes;
  std::uint64_t stride = 1;
  for (std::size_t axis = dims.size() - 1; axis > 0; --axis) {
    of_axes.push_back(times(index.along(axis), static_cast<std::uint32_t>(stride * kGolden)));
    stride *= index.size(axis);
  }
  if (of_axes.empty()) return key;
  const Tensor last = mix(of_axes[0] + key);
  if (of_axes.size() == 1) return last;
  Tensor before = times(key, kOuterAxes);
  for (; of_axes.size() > 1; of_axes.pop_back()) before = before + of_axes.back();
  return broadcast_to(last, dims) + broadcast_to(mix(before), dims);
}

// Returns words whose high bits are random; the low bits need another fold(16). TPU v2 and v3
// multiply integers by shifts and additions: two operations for each nonzero digit of the factor in
// signed binary. The factors used here have 5 nonzero digits; the factors of other mixers have 12.
Tensor hashed(const Scope& s, const Dims& dims, const std::optional<Block>& block) {
  CHECK(s.random_source(), s.path(), " draws random numbers without a RandomSource");
  CHECK(!dims.empty());
  const auto words = place_words(s);
  const Tensor first = place_key(s, words[0], kElementFactors);
  const Tensor second = place_key(s, words[1], kRowFactors);
  const ElementIndex index(s, dims, block);
  const Tensor row = mix(times(index.row(), kGolden) + second);
  const Tensor x = bitwise_xor(element_keys(first, dims, index), row);
  return times(fold(times(x, 0x00837FF9), 12), 0x00022841);
}

}  // namespace

std::vector<std::uint32_t> SeedKeys::of_seed(std::uint64_t seed) const {
  std::vector<std::uint32_t> out(2 * kMostPlaces);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint64_t key = random_key(seed, places[i]);
    out[2 * i] = static_cast<std::uint32_t>(key);
    out[2 * i + 1] = static_cast<std::uint32_t>(key >> 32);
  }
  return out;
}

Tensor random_bits(const Scope& s, const Dims& dims, const std::optional<Block>& block) {
  return fold(hashed(s, dims, block), 16);
}

Tensor random_keep(const Scope& s, const Dims& dims, double rate,
                   const std::optional<Block>& block) {
  // Compares signed numbers, as TPUs lack unsigned comparison and would flip a bit of each number.
  const Tensor number = bitcast_convert(hashed(s, dims, block), DType::s32);
  return compare(number, full_like(number, std::round(rate * 0x1p32) - 0x1p31), Compare::ge);
}

Tensor uniform(const Scope& s, const Dims& dims) {
  const Tensor bits = random_bits(s, dims);
  return convert(shift_right_logical(bits, full_like(bits, 8)), DType::f32) * 0x1p-24;
}

}  // namespace smelt::model
