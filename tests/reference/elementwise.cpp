// Elementwise ops, conversions, comparison, and ops that return their inputs unchanged.
#include <cmath>

#include "base/error.h"
#include "reference/interpreter.h"

namespace smelt::testing {

using compiler::DType;
using compiler::dtype_size_bytes;
using compiler::is_signed;
using compiler::Node;
namespace {

using Values = std::vector<Value>;

template <double (*f)(double)>
Values on_reals(const Node&, const Values& in) {
  Value out = empty_value(in[0].shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.real[i] = f(in[0].real[i]);
  return {out};
}

template <double (*f)(double), std::int64_t (*g)(std::int64_t)>
Values on_numbers(const Node& node, const Values& in) {
  if (in[0].is_real()) return on_reals<f>(node, in);
  Value out = empty_value(in[0].shape);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.bits[i] = wrapped(out.shape.dtype, static_cast<std::uint64_t>(g(in[0].integer(i))));
  return {out};
}

// Applies f to floats, g to signed integers, and h to unsigned integers and predicates.
template <double (*f)(double, double), std::int64_t (*g)(std::int64_t, std::int64_t),
          std::uint64_t (*h)(std::uint64_t, std::uint64_t)>
Values on_pairs(const Node&, const Values& in) {
  CHECK(in[0].shape == in[1].shape);
  Value out = empty_value(in[0].shape);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    if (out.is_real())
      out.real[i] = f(in[0].real[i], in[1].real[i]);
    else if (is_signed(out.shape.dtype))
      out.bits[i] = wrapped(out.shape.dtype,
                            static_cast<std::uint64_t>(g(in[0].integer(i), in[1].integer(i))));
    else
      out.bits[i] = wrapped(out.shape.dtype, h(in[0].bits[i], in[1].bits[i]));
  }
  return {out};
}

template <std::uint64_t (*f)(std::uint64_t, std::uint64_t, int width)>
Values on_bits(const Node&, const Values& in) {
  CHECK(in[0].shape == in[1].shape);
  Value out = empty_value(in[0].shape);
  const int width = static_cast<int>(8 * dtype_size_bytes(out.shape.dtype));
  const std::uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.bits[i] = wrapped(out.shape.dtype, f(in[0].bits[i] & mask, in[1].bits[i] & mask, width));
  return {out};
}

template <class T>
T plus(T a, T b) {
  return a + b;
}
template <class T>
T minus(T a, T b) {
  return a - b;
}
template <class T>
T times(T a, T b) {
  return a * b;
}
template <class T>
T over(T a, T b) {
  return a / b;
}
template <class T>
T rest(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmod(a, b);
  else
    return a % b;
}
template <class T>
T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
T raised(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::pow(a, b);
  T out = 1;
  for (T i = 0; i < b; ++i) out *= a;
  return out;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double inverse_root(double x) { return 1 / std::sqrt(x); }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double negated(double x) { return -x; }

std::int64_t integer_negated(std::int64_t x) { return -x; }
std::int64_t integer_abs(std::int64_t x) { return x < 0 ? -x : x; }
std::int64_t integer_sign(std::int64_t x) { return (x > 0) - (x < 0); }

std::uint64_t both(std::uint64_t a, std::uint64_t b, int) { return a & b; }
std::uint64_t either(std::uint64_t a, std::uint64_t b, int) { return a | b; }
std::uint64_t one_of(std::uint64_t a, std::uint64_t b, int) { return a ^ b; }

std::uint64_t shifted_left(std::uint64_t a, std::uint64_t b, int width) {
  return b >= static_cast<std::uint64_t>(width) ? 0 : a << b;
}
std::uint64_t shifted_right(std::uint64_t a, std::uint64_t b, int width) {
  return b >= static_cast<std::uint64_t>(width) ? 0 : a >> b;
}

Values bitwise_not(const Node&, const Values& in) {
  Value out = in[0];
  for (std::uint64_t& bits : out.bits) bits = wrapped(out.shape.dtype, ~bits);
  return {out};
}

Values is_finite(const Node&, const Values& in) {
  Value out = empty_value({DType::pred, in[0].shape.dims});
  for (std::int64_t i = 0; i < out.size(); ++i) out.bits[i] = std::isfinite(in[0].real[i]);
  return {out};
}

double as_number(const Value& value, std::int64_t i) {
  if (value.is_real()) return value.real[i];
  return is_signed(value.shape.dtype) ? static_cast<double>(value.integer(i))
                                      : static_cast<double>(value.bits[i]);
}

Values convert(const Node& node, const Values& in) {
  const DType dtype = node.results[0].dtype;
  Value out = empty_value({dtype, in[0].shape.dims});
  for (std::int64_t i = 0; i < out.size(); ++i) {
    if (out.is_real())
      out.real[i] = as_number(in[0], i);
    else if (dtype == DType::pred)
      out.bits[i] = as_number(in[0], i) != 0;
    else
      out.bits[i] =
          wrapped(dtype, in[0].is_real()
                             ? static_cast<std::uint64_t>(static_cast<std::int64_t>(in[0].real[i]))
                             : in[0].bits[i]);
  }
  return {out};
}

Values bitcast_convert(const Node& node, const Values& in) {
  return {from_bytes({node.results[0].dtype, in[0].shape.dims}, to_bytes(in[0]))};
}

Values unchanged(const Node&, const Values& in) { return in; }
Values first(const Node&, const Values& in) { return {in[0]}; }

template <class T>
bool holds(std::int64_t direction, T a, T b) {
  const bool answers[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
  return answers[direction];
}

Values compare(const Node& node, const Values& in) {
  CHECK(in[0].shape == in[1].shape);
  const std::int64_t direction = node.attrs.integer("direction");
  Value out = empty_value({DType::pred, in[0].shape.dims});
  for (std::int64_t i = 0; i < out.size(); ++i) {
    if (in[0].is_real())
      out.bits[i] = holds(direction, in[0].real[i], in[1].real[i]);
    else if (is_signed(in[0].shape.dtype))
      out.bits[i] = holds(direction, in[0].integer(i), in[1].integer(i));
    else
      out.bits[i] = holds(direction, in[0].bits[i], in[1].bits[i]);
  }
  return {out};
}

Values select(const Node&, const Values& in) {
  Value out = empty_value(in[1].shape);
  for (std::int64_t i = 0; i < out.size(); ++i) copy_element(in[in[0].bits[i] ? 1 : 2], i, out, i);
  return {out};
}

constexpr Rule kMaximumRule = on_pairs<larger, larger, larger>;
constexpr Rule kMinimumRule = on_pairs<smaller, smaller, smaller>;

Values clamp(const Node& node, const Values& in) {
  const Values raised = kMaximumRule(node, {in[0], in[1]});
  return kMinimumRule(node, {raised[0], in[2]});
}

}  // namespace

Rules elementwise_rules() {
  return {
      {"negate", on_numbers<negated, integer_negated>},
      {"exponential", on_reals<std::exp>},
      {"log", on_reals<std::log>},
      {"log_plus_one", on_reals<std::log1p>},
      {"exponential_minus_one", on_reals<std::expm1>},
      {"tanh", on_reals<std::tanh>},
      {"logistic", on_reals<logistic>},
      {"sqrt", on_reals<std::sqrt>},
      {"rsqrt", on_reals<inverse_root>},
      {"erf", on_reals<std::erf>},
      {"sine", on_reals<std::sin>},
      {"cosine", on_reals<std::cos>},
      {"abs", on_numbers<std::fabs, integer_abs>},
      {"sign", on_numbers<sign_of, integer_sign>},
      {"floor", on_reals<std::floor>},
      {"ceil", on_reals<std::ceil>},
      {"round_nearest_even", on_reals<std::nearbyint>},
      {"not", bitwise_not},
      {"is_finite", is_finite},
      {"convert", convert},
      {"bitcast_convert", bitcast_convert},
      {"stop_gradient", unchanged},
      {"straight_through", first},
      {"reduce_precision", unchanged},
      {"optimization_barrier", unchanged},
      {"sharding_constraint", unchanged},
      {"add", on_pairs<plus, plus, plus>},
      {"subtract", on_pairs<minus, minus, minus>},
      {"multiply", on_pairs<times, times, times>},
      {"divide", on_pairs<over, over, over>},
      {"remainder", on_pairs<rest, rest, rest>},
      {"power", on_pairs<raised, raised, raised>},
      {"maximum", kMaximumRule},
      {"minimum", kMinimumRule},
      {"and", on_bits<both>},
      {"or", on_bits<either>},
      {"xor", on_bits<one_of>},
      {"shift_left", on_bits<shifted_left>},
      {"shift_right_logical", on_bits<shifted_right>},
      {"compare", compare},
      {"select", select},
      {"clamp", clamp},
  };
}

}  // namespace smelt::testing
