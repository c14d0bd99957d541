// Comparison, select and clamp.
#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

constexpr std::string_view kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

// Returns how StableHLO compares elements of this type. If it is left out, some versions of XLA
// fold comparisons of signed constants as unsigned ones.
std::string_view comparison_type(DType dtype) {
  if (is_float(dtype)) return "FLOAT";
  return is_signed(dtype) ? "SIGNED" : "UNSIGNED";
}

}  // namespace

constinit const Op kCompare{
    .name = "compare",
    .infer =
        [](const Node& node) {
          require_equal("compare", node.inputs[0].shape(), node.inputs[1].shape());
          return std::vector<Shape>{{DType::pred, node.inputs[0].dims()}};
        },
    .vjp = flat,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.compare",
                         str("compare_type = #stablehlo<comparison_type ",
                             comparison_type(node.inputs[0].dtype()),
                             ">, comparison_direction = #stablehlo<comparison_direction ",
                             kDirections[node.attrs.integer("direction")], ">"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"all directions",
               {s32_input({8}, -1, 2), s32_input({8}, -1, 2)},
               [](Graph&, Inputs in) {
                 Tensors out;
                 for (const Compare direction : {Compare::eq, Compare::ne, Compare::lt, Compare::le,
                                                 Compare::gt, Compare::ge})
                   out.push_back(compare(in[0], in[1], direction));
                 return out;
               }},
              {"constants",
               {f64_input({2})},
               [](Graph& g, Inputs in) {
                 const std::vector<double> numbers{-1, 1};
                 const Tensor x = constant(g, numbers, {DType::s32, {2}});
                 return Tensors{select(compare(x, zeros_like(x), Compare::ge), in[0], -in[0])};
               }},
              {"unsigned and float",
               {{{DType::u32, {4}}, 0, 4e9}, f64_input({4})},
               [](Graph& g, Inputs in) {
                 return Tensors{compare(in[0], constant(g, 2e9, DType::u32), Compare::lt),
                                compare(in[1], constant(g, 0, DType::f64), Compare::gt)};
               }}};
        }};

Tensor compare(Tensor a, Tensor b, Compare direction) {
  require_same_dtype("compare", a.shape(), b.shape());
  const Dims dims = broadcast_dims("compare", a.shape(), b.shape());
  return apply(kCompare, {broadcast_to(a, dims), broadcast_to(b, dims)},
               {{"direction", static_cast<std::int64_t>(direction)}});
}

constinit const Op kSelect{
    .name = "select",
    .infer =
        [](const Node& node) {
          const Shape &pred = node.inputs[0].shape(), &on_true = node.inputs[1].shape();
          if (pred.dtype != DType::pred)
            throw UsageError(str("select: the predicate is ", pred, ", expected i1"),
                             "create the predicate with compare");
          require_equal("select", on_true, node.inputs[2].shape());
          require_equal("select", pred, {DType::pred, on_true.dims});
          return std::vector<Shape>{on_true};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor zero = zeros_like(cts[0]);
          return Tensors{
              {}, select(node.inputs[0], cts[0], zero), select(node.inputs[0], zero, cts[0])};
        },
    .emit = emit_as<"stablehlo.select">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64",
               {{{DType::pred, {2, 3}}, 0, 2}, f64_input({2, 3}), f64_input({2, 3})},
               [](Graph&, Inputs in) { return Tensors{select(in[0], in[1], in[2])}; }},
              {"broadcast",
               {{{DType::pred, {2, 1}}, 0, 2}, f64_input({2, 3}), f64_input({})},
               [](Graph&, Inputs in) { return Tensors{select(in[0], in[1], in[2])}; }}};
        }};

Tensor select(Tensor pred, Tensor on_true, Tensor on_false) {
  require_same_dtype("select", on_true.shape(), on_false.shape());
  const Shape values{on_true.dtype(), broadcast_dims("select", on_true.shape(), on_false.shape())};
  const Dims dims = broadcast_dims("select", pred.shape(), values);
  return apply(kSelect, {broadcast_to(pred, dims), broadcast_to(on_true, dims),
                         broadcast_to(on_false, dims)});
}

constinit const Op kClamp{
    .name = "clamp",
    .infer = equal_numbers,
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor low = node.inputs[0], x = node.inputs[1], high = node.inputs[2];
          const Tensor below = compare(x, low, Compare::lt), above = compare(x, high, Compare::gt);
          return Tensors{zero_unless(below, cts[0]),
                         zero_unless(bitwise_not(bitwise_or(below, above)), cts[0]),
                         zero_unless(above, cts[0])};
        },
    .emit = emit_as<"stablehlo.clamp">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64",
               {f64_input({}, -1.0, -0.5), f64_input({3, 5}), f64_input({5}, 0.5, 1.0)},
               [](Graph&, Inputs in) { return Tensors{clamp(in[0], in[1], in[2])}; }}};
        }};

Tensor clamp(Tensor low, Tensor x, Tensor high) {
  return apply(kClamp, {broadcast_to(low, x.dims()), x, broadcast_to(high, x.dims())});
}

}  // namespace smelt::compiler
