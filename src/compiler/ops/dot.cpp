// General matrix multiplication with batch, contracting and free dimensions.
#include <numeric>

#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

DotDims dims_of(const Node& node) {
  return {.batch_a = node.attrs.dims("batch_a"),
          .batch_b = node.attrs.dims("batch_b"),
          .contract_a = node.attrs.dims("contract_a"),
          .contract_b = node.attrs.dims("contract_b")};
}

Dims joined(Dims a, const Dims& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Dims free_axes(const Tensor& x, const Dims& batch, const Dims& contract) {
  return other_axes(x.rank(), joined(batch, contract));
}

// Returns "8 and 64" for the first pair of sizes that differ, or an empty string.
std::string first_difference(const Shape& a, const Shape& b, const Dims& axes_a,
                             const Dims& axes_b) {
  for (std::size_t i = 0; i < axes_a.size(); ++i)
    if (a.dims[axes_a[i]] != b.dims[axes_b[i]])
      return str(a.dims[axes_a[i]], " and ", b.dims[axes_b[i]]);
  return {};
}

void check_axes(const Shape& x, const Dims& batch, const Dims& contract) {
  positive_axes("dot_general", joined(batch, contract), x);
}

std::vector<Shape> infer_dot(const Node& node) {
  const Shape &a = node.inputs[0].shape(), &b = node.inputs[1].shape();
  const DotDims d = dims_of(node);
  require_number("dot_general", a);
  require_same_dtype("dot_general", a, b);
  check_axes(a, d.batch_a, d.contract_a);
  check_axes(b, d.batch_b, d.contract_b);
  if (d.batch_a.size() != d.batch_b.size() || d.contract_a.size() != d.contract_b.size())
    throw UsageError(
        str("dot_general: ", a, " x ", b, ": ", d.batch_a.size(), " and ", d.batch_b.size(),
            " batch axes, ", d.contract_a.size(), " and ", d.contract_b.size(), " contracted axes"),
        "pass equal numbers of axes for both operands");
  for (const auto& [word, axes_a, axes_b] : {std::tuple("contracted", d.contract_a, d.contract_b),
                                             std::tuple("batch", d.batch_a, d.batch_b)}) {
    const std::string differ = first_difference(a, b, axes_a, axes_b);
    if (!differ.empty())
      throw UsageError(
          str("dot_general: ", a, " x ", b, ": ", word, " dimensions ", differ, " differ"),
          "transpose or reshape an operand so that they agree");
  }
  Shape shape{node.attrs.dtype("dtype"), {}};
  if (is_float(shape.dtype) != is_float(a.dtype))
    throw UsageError(str("dot_general: ", a, " x ", b, " cannot return ", shape.dtype),
                     "convert the result");
  for (const auto axis : d.batch_a) shape.dims.push_back(a.dims[axis]);
  for (const auto axis : free_axes(node.inputs[0], d.batch_a, d.contract_a))
    shape.dims.push_back(a.dims[axis]);
  for (const auto axis : free_axes(node.inputs[1], d.batch_b, d.contract_b))
    shape.dims.push_back(b.dims[axis]);
  return {shape};
}

// One operand and its axes by role.
struct Side {
  Tensor x;
  Dims batch, contract, free;
};

// Transposes x so that its axis i becomes axis layout[i].
Tensor with_layout(Tensor x, const Dims& layout) {
  Dims permutation(layout.size());
  for (std::size_t i = 0; i < layout.size(); ++i)
    permutation[layout[i]] = static_cast<std::int64_t>(i);
  return transpose(x, permutation);
}

// Returns the cotangent of `self`: ct · other, contracted over the free axes of `other`. `ct_other`
// are the axes of ct that correspond to them. Picks the operand order that needs no transpose, if
// there is one.
Tensor cotangent(const Side& self, const Side& other, Tensor ct, const Dims& ct_other) {
  Dims ct_batch(self.batch.size());
  std::iota(ct_batch.begin(), ct_batch.end(), 0);
  // The matmul returns the contracted axes of `other` in rising order; `partners` are the matching
  // axes of `self`.
  Dims order(other.contract.size()), partners;
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](auto i, auto j) { return other.contract[i] < other.contract[j]; });
  for (const auto i : order) partners.push_back(self.contract[i]);

  const Dims swapped = joined(joined(self.batch, partners), self.free);
  const DType dtype = gradient_dtype(self.x);
  ct = convert(ct, other.x.dtype());
  if (std::is_sorted(swapped.begin(), swapped.end()))
    return dot_general(other.x, ct, {other.batch, ct_batch, other.free, ct_other}, dtype);
  return with_layout(dot_general(ct, other.x, {ct_batch, other.batch, ct_other, other.free}, dtype),
                     joined(joined(self.batch, self.free), partners));
}

Tensors dot_vjp(const Node& node, std::span<const Tensor> cts) {
  const DotDims d = dims_of(node);
  const Tensor x = node.inputs[0], y = node.inputs[1];
  const Side a{x, d.batch_a, d.contract_a, free_axes(x, d.batch_a, d.contract_a)};
  const Side b{y, d.batch_b, d.contract_b, free_axes(y, d.batch_b, d.contract_b)};
  // The axes of the result: batch, free axes of a, free axes of b.
  Dims from_a(a.free.size()), from_b(b.free.size());
  std::iota(from_a.begin(), from_a.end(), static_cast<std::int64_t>(a.batch.size()));
  std::iota(from_b.begin(), from_b.end(),
            static_cast<std::int64_t>(a.batch.size() + a.free.size()));
  return {cotangent(a, b, cts[0], from_b), cotangent(b, a, cts[0], from_a)};
}

void emit_dot(const Node& node, HloWriter& writer) {
  const DotDims d = dims_of(node);
  std::string numbers;
  if (!d.batch_a.empty())
    numbers = str("lhs_batching_dimensions = ", hlo_list(d.batch_a),
                  ", rhs_batching_dimensions = ", hlo_list(d.batch_b), ", ");
  const std::string precision = writer.form().exact_products ? "#stablehlo<precision HIGHEST>"
                                                             : "#stablehlo<precision DEFAULT>";
  writer.generic(node, "stablehlo.dot_general",
                 str("dot_dimension_numbers = #stablehlo.dot<", numbers,
                     "lhs_contracting_dimensions = ", hlo_list(d.contract_a),
                     ", rhs_contracting_dimensions = ", hlo_list(d.contract_b),
                     ">, precision_config = [", precision, ", ", precision, "]"));
}

std::vector<OpExample> dot_examples() {
  return {
      {"matrix product",
       {f64_input({2, 3}), f64_input({3, 4})},
       [](Graph&, Inputs in) { return Tensors{matmul(in[0], in[1])}; }},
      {"second operand transposed",
       {f64_input({5, 2, 3}), f64_input({4, 3})},
       [](Graph&, Inputs in) { return Tensors{dot_general(in[0], in[1], {{}, {}, {2}, {1}})}; }},
      {"batch",
       {f64_input({2, 3, 4, 5}), f64_input({2, 3, 5, 2})},
       [](Graph&, Inputs in) { return Tensors{matmul(in[0], in[1])}; }},
      {"inner batch and two contracted axes",
       {f64_input({3, 2, 4, 5}), f64_input({5, 2, 6, 3})},
       [](Graph&, Inputs in) {
         return Tensors{dot_general(in[0], in[1], {{1}, {1}, {0, 3}, {3, 0}})};
       }},
      {"int8 operands, int32 result",
       {{{DType::s8, {3, 40}}, -128, 128}, {{DType::s8, {5, 40}}, -128, 128}},
       [](Graph&, Inputs in) {
         return Tensors{dot_general(in[0], in[1], {{}, {}, {1}, {1}}, DType::s32)};
       }},
      {"outer product", {f64_input({2}), f64_input({3})}, [](Graph&, Inputs in) {
         return Tensors{dot_general(in[0], in[1], {{}, {}, {}, {}})};
       }}};
}

}  // namespace

constinit const Op kDotGeneral{.name = "dot_general",
                               .infer = infer_dot,
                               .vjp = dot_vjp,
                               .emit = emit_dot,
                               .examples = dot_examples,
                               .saving = RematClass::matmul};

Tensor dot_general(Tensor a, Tensor b, const DotDims& dims, std::optional<DType> result) {
  return apply(kDotGeneral, {a, b},
               {{"dtype", result.value_or(a.dtype())},
                {"batch_a", dims.batch_a},
                {"batch_b", dims.batch_b},
                {"contract_a", dims.contract_a},
                {"contract_b", dims.contract_b}});
}

Tensor matmul(Tensor a, Tensor b) {
  if (a.rank() < 1 || b.rank() < 2 || (b.rank() > 2 && a.rank() != b.rank()))
    throw UsageError(str("matmul: ", a.shape(), " x ", b.shape(), " cannot be multiplied"),
                     "use [..., m, k] x [k, n], or equal leading dimensions");
  DotDims dims{{}, {}, {a.rank() - 1}, {b.rank() - 2}};
  for (std::int64_t i = 0; i + 2 < b.rank(); ++i) {
    dims.batch_a.push_back(i);
    dims.batch_b.push_back(i);
  }
  return dot_general(a, b, dims);
}

}  // namespace smelt::compiler
