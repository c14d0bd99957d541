// Constants and iota: the inputs of a graph other than its arguments.
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/ir/float16.h"
#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

void put_bytes(std::vector<std::byte>& out, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

template <class T>
void put(std::vector<std::byte>& out, T value) {
  put_bytes(out, &value, sizeof value);
}

template <class T>
void put_integer(std::vector<std::byte>& out, double value, DType dtype) {
  // The upper limit as a power of two is exact in double; max() itself may not be.
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (value != std::trunc(value) || value >= limit ||
      value < static_cast<double>(std::numeric_limits<T>::min()))
    throw UsageError(str("constant: ", value, " is not representable in ", dtype),
                     "choose a wider type");
  put(out, static_cast<T>(value));
}

void put_element(std::vector<std::byte>& out, double value, DType dtype) {
  switch (dtype) {
    case DType::pred:
      return put<std::uint8_t>(out, value != 0);
    case DType::s8:
      return put_integer<std::int8_t>(out, value, dtype);
    case DType::s32:
      return put_integer<std::int32_t>(out, value, dtype);
    case DType::s64:
      return put_integer<std::int64_t>(out, value, dtype);
    case DType::u8:
      return put_integer<std::uint8_t>(out, value, dtype);
    case DType::u16:
      return put_integer<std::uint16_t>(out, value, dtype);
    case DType::u32:
      return put_integer<std::uint32_t>(out, value, dtype);
    case DType::u64:
      return put_integer<std::uint64_t>(out, value, dtype);
    case DType::bf16:
      return put(out, bf16_from_double(value));
    case DType::f16:
      return put(out, f16_from_double(value));
    case DType::f32:
      return put(out, static_cast<float>(value));
    case DType::f64:
      return put(out, value);
  }
}

}  // namespace

constinit const Op kConstant{
    .name = "constant",
    .infer =
        [](const Node& node) {
          return std::vector<Shape>{{node.attrs.dtype("dtype"), node.attrs.dims("dims")}};
        },
    .vjp = flat,
    .emit =
        [](const Node& node, HloWriter& writer) {
          const std::string value = hlo_dense(node.results[0], node.attrs.bytes("bytes"));
          writer.generic(node, "stablehlo.constant", "value = " + value);
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"splats",
               {},
               [](Graph& g, Inputs) {
                 return Tensors{constant(g, 0.1, DType::f32, {2, 3}),
                                constant(g, -0.0, DType::f64),
                                constant(g, 1e-45, DType::f32),
                                constant(g, 1.7976931348623157e308, DType::f64),
                                constant(g, -std::numeric_limits<double>::infinity(), DType::f32),
                                constant(g, 3.140625, DType::bf16),
                                constant(g, 65504, DType::f16),
                                constant(g, -7, DType::s32, {3}),
                                constant(g, 255, DType::u8),
                                constant(g, 1, DType::pred, {2})};
               }},
              {"lists", {}, [](Graph& g, Inputs) {
                 const std::vector<double> values{1, 2.5, -3, 1.0 / 3, 5, 6};
                 const std::vector<double> whole{0, 1, 2, 4294967295.0};
                 std::vector<double> many(66);
                 for (std::size_t i = 0; i < many.size(); ++i)
                   many[i] = 0.5 * static_cast<double>(i);
                 return Tensors{constant(g, values, {DType::f32, {2, 3}}),
                                constant(g, values, {DType::f64, {3, 1, 2}}),
                                constant(g, whole, {DType::u32, {4}}),
                                constant(g, whole, {DType::u64, {2, 2}}),
                                constant(g, many, {DType::f32, {66}})};
               }}};
        }};

constinit const Op kIota{
    .name = "iota",
    .infer =
        [](const Node& node) {
          const Shape shape{node.attrs.dtype("dtype"), node.attrs.dims("dims")};
          require_number("iota", shape);
          return std::vector<Shape>{shape};
        },
    .vjp = flat,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.iota",
                         str("iota_dimension = ", node.attrs.integer("axis"), " : i64"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"both axes", {}, [](Graph& g, Inputs) {
                                           return Tensors{iota(g, {DType::s32, {2, 3}}, 0),
                                                          iota(g, {DType::f64, {2, 3}}, -1)};
                                         }}};
        }};

Tensor literal(Graph& graph, Shape shape, std::vector<std::byte> bytes) {
  CHECK(bytes.size() == shape.size_bytes() || bytes.size() == dtype_size_bytes(shape.dtype),
        bytes.size(), " bytes for ", shape);
  return result(graph.apply(
      kConstant, {}, {{"dtype", shape.dtype}, {"dims", shape.dims}, {"bytes", std::move(bytes)}}));
}

Tensor constant(Graph& graph, double value, DType dtype, Dims dims) {
  std::vector<std::byte> bytes;
  put_element(bytes, value, dtype);
  return literal(graph, {dtype, std::move(dims)}, std::move(bytes));
}

Tensor constant(Graph& graph, std::span<const double> values, Shape shape) {
  if (static_cast<std::int64_t>(values.size()) != shape.elements())
    throw UsageError(
        str("constant: ", values.size(), " values for ", shape, ", expected ", shape.elements()),
        "pass one value per element");
  std::vector<std::byte> bytes;
  for (const double value : values) put_element(bytes, value, shape.dtype);
  return literal(graph, std::move(shape), std::move(bytes));
}

Tensor iota(Graph& graph, Shape shape, std::int64_t axis) {
  const std::int64_t at = positive_axis("iota", axis, shape);
  return result(
      graph.apply(kIota, {}, {{"dtype", shape.dtype}, {"dims", shape.dims}, {"axis", at}}));
}

Tensor full_like(Tensor x, double value) { return constant(x.graph(), value, x.dtype(), x.dims()); }
Tensor zeros_like(Tensor x) { return full_like(x, 0); }
Tensor ones_like(Tensor x) { return full_like(x, 1); }

}  // namespace smelt::compiler
