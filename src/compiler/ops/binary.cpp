// Elementwise binary ops. The public functions broadcast their operands; the ops themselves require
// equal shapes.
#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

Tensor broadcasting(const Op& op, Tensor a, Tensor b) {
  require_same_dtype(op.name, a.shape(), b.shape());
  const Dims dims = broadcast_dims(op.name, a.shape(), b.shape());
  return apply(op, {broadcast_to(a, dims), broadcast_to(b, dims)});
}

template <Tensor (*f)(Tensor, Tensor)>
Tensors call(Graph&, Inputs in) {
  return {f(in[0], in[1])};
}

template <Tensor (*f)(Tensor, Tensor), double low, double high>
std::vector<OpExample> examples_in() {
  return {{"f64", {f64_input({2, 3}), f64_input({2, 3}, low, high)}, call<f>},
          {"broadcast", {f64_input({4, 1, 3}), f64_input({2, 1}, low, high)}, call<f>}};
}

template <Tensor (*f)(Tensor, Tensor)>
std::vector<OpExample> bits_examples() {
  return {{"s32", {s32_input({6}, -9, 9), s32_input({6}, -9, 9)}, call<f>},
          {"pred", {{{DType::pred, {8}}, 0, 2}, {{DType::pred, {8}}, 0, 2}}, call<f>}};
}

template <Tensor (*f)(Tensor, Tensor)>
std::vector<OpExample> shift_examples() {
  return {{"u32", {{{DType::u32, {6}}, 0, 4e9}, {{DType::u32, {6}}, 0, 40}}, call<f>},
          {"s32", {s32_input({6}, -99, 99), s32_input({6}, 0, 31)}, call<f>}};
}

std::vector<Shape> equal_integers(const Node& node) {
  if (node.inputs[0].dtype() == DType::pred)
    throw UsageError(str(node.op->name, ": ", node.inputs[0].shape(), " cannot be shifted"),
                     "convert it to an integer type");
  return same_bits(node);
}

// Rounds towards zero.
Tensor truncated(Tensor x) { return sign(x) * floor(abs(x)); }

}  // namespace

constinit const Op kAdd{
    .name = "add",
    .infer = equal_numbers,
    .vjp = [](const Node&, std::span<const Tensor> cts) { return Tensors{cts[0], cts[0]}; },
    .emit = emit_as<"stablehlo.add">,
    .examples = examples_in<add, -2.0, 2.0>};
Tensor add(Tensor a, Tensor b) { return broadcasting(kAdd, a, b); }

constinit const Op kSubtract{
    .name = "subtract",
    .infer = equal_numbers,
    .vjp = [](const Node&, std::span<const Tensor> cts) { return Tensors{cts[0], -cts[0]}; },
    .emit = emit_as<"stablehlo.subtract">,
    .examples = examples_in<subtract, -2.0, 2.0>};
Tensor subtract(Tensor a, Tensor b) { return broadcasting(kSubtract, a, b); }

constinit const Op kMultiply{.name = "multiply",
                             .infer = equal_numbers,
                             .vjp =
                                 [](const Node& node, std::span<const Tensor> cts) {
                                   return Tensors{cts[0] * node.inputs[1], cts[0] * node.inputs[0]};
                                 },
                             .emit = emit_as<"stablehlo.multiply">,
                             .examples = examples_in<multiply, -2.0, 2.0>};
Tensor multiply(Tensor a, Tensor b) { return broadcasting(kMultiply, a, b); }

constinit const Op kDivide{.name = "divide",
                           .infer = equal_numbers,
                           .vjp =
                               [](const Node& node, std::span<const Tensor> cts) {
                                 const Tensor da = cts[0] / node.inputs[1];
                                 return Tensors{da, -(da * result(node))};
                               },
                           .emit = emit_as<"stablehlo.divide">,
                           .examples = examples_in<divide, 0.5, 2.0>};
Tensor divide(Tensor a, Tensor b) { return broadcasting(kDivide, a, b); }

// remainder(a, b) = a - b trunc(a / b)
constinit const Op kRemainder{.name = "remainder",
                              .infer = equal_numbers,
                              .vjp =
                                  [](const Node& node, std::span<const Tensor> cts) {
                                    const Tensor a = node.inputs[0], b = node.inputs[1];
                                    return Tensors{cts[0], -(cts[0] * truncated(a / b))};
                                  },
                              .emit = emit_as<"stablehlo.remainder">,
                              .examples = examples_in<remainder, 3.0, 4.0>};
Tensor remainder(Tensor a, Tensor b) { return broadcasting(kRemainder, a, b); }

constinit const Op kPower{
    .name = "power",
    .infer = equal_numbers,
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor a = node.inputs[0], b = node.inputs[1];
          // At a = 0 the usual formulas give 0 times infinity; the limits are 0.
          const Tensor da =
              zero_unless(compare(b, zeros_like(b), Compare::ne), b * power(a, b - 1.0));
          const Tensor safe = select(compare(a, zeros_like(a), Compare::eq), ones_like(a), a);
          return Tensors{cts[0] * da, cts[0] * result(node) * log(safe)};
        },
    .emit = emit_as<"stablehlo.power">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64", {f64_input({2, 3}, 0.5, 2.0), f64_input({2, 3}, -2.0, 2.0)}, call<power>},
              {"broadcast", {f64_input({4, 3}, 0.5, 2.0), f64_input({}, 2.0, 3.0)}, call<power>}};
        }};
Tensor power(Tensor a, Tensor b) { return broadcasting(kPower, a, b); }

// If the operands are equal, the first one gets the whole cotangent.
constinit const Op kMaximum{.name = "maximum",
                            .infer = equal_numbers,
                            .vjp =
                                [](const Node& node, std::span<const Tensor> cts) {
                                  const Tensor a = node.inputs[0], b = node.inputs[1];
                                  return Tensors{zero_unless(compare(a, b, Compare::ge), cts[0]),
                                                 zero_unless(compare(a, b, Compare::lt), cts[0])};
                                },
                            .emit = emit_as<"stablehlo.maximum">,
                            .examples = examples_in<maximum, -2.0, 2.0>};
Tensor maximum(Tensor a, Tensor b) { return broadcasting(kMaximum, a, b); }

constinit const Op kMinimum{.name = "minimum",
                            .infer = equal_numbers,
                            .vjp =
                                [](const Node& node, std::span<const Tensor> cts) {
                                  const Tensor a = node.inputs[0], b = node.inputs[1];
                                  return Tensors{zero_unless(compare(a, b, Compare::le), cts[0]),
                                                 zero_unless(compare(a, b, Compare::gt), cts[0])};
                                },
                            .emit = emit_as<"stablehlo.minimum">,
                            .examples = examples_in<minimum, -2.0, 2.0>};
Tensor minimum(Tensor a, Tensor b) { return broadcasting(kMinimum, a, b); }

constinit const Op kBitwiseAnd{.name = "and",
                               .infer = same_bits,
                               .vjp = flat,
                               .emit = emit_as<"stablehlo.and">,
                               .examples = bits_examples<bitwise_and>};
Tensor bitwise_and(Tensor a, Tensor b) { return broadcasting(kBitwiseAnd, a, b); }

constinit const Op kBitwiseOr{.name = "or",
                              .infer = same_bits,
                              .vjp = flat,
                              .emit = emit_as<"stablehlo.or">,
                              .examples = bits_examples<bitwise_or>};
Tensor bitwise_or(Tensor a, Tensor b) { return broadcasting(kBitwiseOr, a, b); }

constinit const Op kBitwiseXor{.name = "xor",
                               .infer = same_bits,
                               .vjp = flat,
                               .emit = emit_as<"stablehlo.xor">,
                               .examples = bits_examples<bitwise_xor>};
Tensor bitwise_xor(Tensor a, Tensor b) { return broadcasting(kBitwiseXor, a, b); }

// A shift by at least the element width gives 0. StableHLO leaves this to the implementation; XLA
// gives 0.
constinit const Op kShiftLeft{.name = "shift_left",
                              .infer = equal_integers,
                              .vjp = flat,
                              .emit = emit_as<"stablehlo.shift_left">,
                              .examples = shift_examples<shift_left>};
Tensor shift_left(Tensor a, Tensor b) { return broadcasting(kShiftLeft, a, b); }

constinit const Op kShiftRightLogical{.name = "shift_right_logical",
                                      .infer = equal_integers,
                                      .vjp = flat,
                                      .emit = emit_as<"stablehlo.shift_right_logical">,
                                      .examples = shift_examples<shift_right_logical>};
Tensor shift_right_logical(Tensor a, Tensor b) { return broadcasting(kShiftRightLogical, a, b); }

}  // namespace smelt::compiler
