// Conversion of element types, and ops that pass values through.
#include "compiler/ops/rules.h"

namespace smelt::compiler {

constinit const Op kConvert{
    .name = "convert",
    .infer =
        [](const Node& node) {
          return std::vector<Shape>{{node.attrs.dtype("dtype"), node.inputs[0].dims()}};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const DType from = node.inputs[0].dtype();  // the cotangent may be wider: see rounded()
          return Tensors{is_float(from) && is_float(cts[0].dtype()) ? convert(cts[0], from)
                                                                    : Tensor()};
        },
    .emit = emit_as<"stablehlo.convert">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"from f64",
               {f64_input({2, 3})},
               [](Graph&, Inputs in) {
                 return Tensors{convert(in[0], DType::f32), convert(in[0], DType::s32),
                                convert(in[0], DType::bf16), convert(in[0], DType::f16),
                                convert(in[0], DType::pred)};
               }},
              {"to f64",
               {{{DType::f32, {4}}, -2, 2}, s32_input({4}, -9, 9), {{DType::pred, {4}}, 0, 2}},
               [](Graph&, Inputs in) {
                 return Tensors{convert(in[0], DType::f64), convert(in[1], DType::f64),
                                convert(in[2], DType::f64), convert(in[1], DType::u8)};
               }},
              {"int8",
               {{{DType::s8, {5}}, -128, 128}, f64_input({3})},
               [](Graph&, Inputs in) {
                 return Tensors{convert(in[0], DType::f64), convert(in[0], DType::s32),
                                convert(in[1], DType::s8)};
               }},
              {"there and back", {f64_input({4})}, [](Graph&, Inputs in) {
                 return Tensors{convert(convert(in[0], DType::f32), DType::f64)};
               }}};
        },
    .saving = RematClass::moved};

Tensor convert(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return apply(kConvert, {x}, {{"dtype", dtype}, {"keep_gradient", std::int64_t{0}}});
}

Tensor rounded(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  require_float("rounded", x.shape());
  return apply(kConvert, {x}, {{"dtype", dtype}, {"keep_gradient", std::int64_t{1}}});
}

DType gradient_dtype(Tensor x) {
  const Node* node = &x.node();
  while (node->op->saving == RematClass::moved && node->op != &kConvert)
    node = &node->inputs[0].node();
  const bool keep = node->op == &kConvert && node->attrs.integer("keep_gradient") == 1;
  return keep ? node->inputs[0].dtype() : x.dtype();
}

constinit const Op kBitcastConvert{
    .name = "bitcast_convert",
    .infer =
        [](const Node& node) {
          const Shape& x = node.inputs[0].shape();
          const DType dtype = node.attrs.dtype("dtype");
          if (dtype_size_bytes(dtype) != dtype_size_bytes(x.dtype) || x.dtype == DType::pred ||
              dtype == DType::pred)
            throw UsageError(str("bitcast_convert: ", x, " to ", dtype,
                                 ": element sizes differ, or one is a predicate"),
                             "choose a non-predicate type of the same size");
          return std::vector<Shape>{{dtype, x.dims}};
        },
    .vjp = nullptr,
    .emit = emit_as<"stablehlo.bitcast_convert">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"bits of a float and back",
               {{{DType::f32, {5}}, -2, 2}},
               [](Graph&, Inputs in) {
                 const Tensor bits = bitcast_convert(in[0], DType::u32);
                 return Tensors{bits, bitcast_convert(bits, DType::f32)};
               }},
              {"bits of a double", {f64_input({5})}, [](Graph&, Inputs in) {
                 return Tensors{bitcast_convert(bitcast_convert(in[0], DType::u64), DType::f64)};
               }}};
        }};

Tensor bitcast_convert(Tensor x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return apply(kBitcastConvert, {x}, {{"dtype", dtype}});
}

constinit const Op kStopGradient{
    .name = "stop_gradient",
    .infer = same_as_first,
    .vjp = flat,
    .emit = [](const Node& node, HloWriter& writer) { writer.alias(result(node), node.inputs[0]); },
    .examples =
        [] {
          // Not f64: the tests compare gradients of f64 examples with finite differences, and this
          // gradient differs from them on purpose.
          return std::vector<OpExample>{
              {"emits nothing", {{{DType::f32, {3}}, -2, 2}}, [](Graph&, Inputs in) {
                 return Tensors{stop_gradient(in[0]), tanh(stop_gradient(in[0]))};
               }}};
        }};

Tensor stop_gradient(Tensor x) { return apply(kStopGradient, {x}); }

constinit const Op kStraightThrough{
    .name = "straight_through",
    .infer =
        [](const Node& node) {
          require_equal("straight_through", node.inputs[0].shape(), node.inputs[1].shape());
          return same_as_first(node);
        },
    .vjp = [](const Node&, std::span<const Tensor> cts) { return Tensors{Tensor(), cts[0]}; },
    .emit = [](const Node& node, HloWriter& writer) { writer.alias(result(node), node.inputs[0]); },
    .examples =
        [] {
          // Not f64: the tests compare gradients of f64 examples with finite differences, and this
          // gradient differs from them on purpose.
          return std::vector<OpExample>{
              {"a step", {{{DType::f32, {3}}, -2, 2}}, [](Graph&, Inputs in) {
                 return Tensors{straight_through(sign(in[0]), tanh(in[0]))};
               }}};
        }};

Tensor straight_through(Tensor value, Tensor source) {
  return apply(kStraightThrough, {value, source});
}

constinit const Op kReducePrecision{
    .name = "reduce_precision",
    .infer = same_float,
    .vjp = [](const Node&, std::span<const Tensor> cts) { return Tensors{round_like_mxu(cts[0])}; },
    .emit =
        [](const Node& node, HloWriter& writer) {
          if (writer.form().exact_products)
            writer.alias(result(node), node.inputs[0]);
          else
            writer.generic(node, "stablehlo.reduce_precision",
                           "exponent_bits = 8 : i32, mantissa_bits = 7 : i32");
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"the bits of bf16", {{{DType::f32, {5}}, -2, 2}}, [](Graph&, Inputs in) {
                 return Tensors{convert(round_like_mxu(in[0]), DType::bf16)};
               }}};
        }};

Tensor round_like_mxu(Tensor x) { return apply(kReducePrecision, {x}); }

constinit const Op kOptimizationBarrier{
    .name = "optimization_barrier",
    .infer =
        [](const Node& node) {
          std::vector<Shape> shapes;
          for (const Tensor& t : node.inputs) shapes.push_back(t.shape());
          return shapes;
        },
    .vjp = [](const Node&, std::span<const Tensor> cts) { return Tensors(cts.begin(), cts.end()); },
    .emit = emit_as<"stablehlo.optimization_barrier">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"two", {f64_input({3}), f64_input({2, 2})}, [](Graph&, Inputs in) {
                 return optimization_barrier({in[0], in[1]});
               }}};
        }};

Tensor optimization_barrier(Tensor x) { return apply(kOptimizationBarrier, {x}); }

std::vector<Tensor> optimization_barrier(const std::vector<Tensor>& xs) {
  if (xs.empty()) return {};
  return results_of(apply(kOptimizationBarrier, xs).node());
}

}  // namespace smelt::compiler
