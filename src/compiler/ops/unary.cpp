// Elementwise unary ops. In a gradient rule x is the operand, y the result and ct the cotangent of
// y.
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

// Examples for an op f on one operand with elements in [low, high).
template <Tensor (*f)(Tensor), double low, double high>
std::vector<OpExample> examples_in() {
  return {
      {"f64", {f64_input({2, 3}, low, high)}, [](Graph&, Inputs in) { return Tensors{f(in[0])}; }},
      {"f32", {{{DType::f32, {5}}, low, high}}, [](Graph&, Inputs in) {
         return Tensors{f(in[0])};
       }}};
}

// The gradient rule of an op with derivative `slope(x, y)`.
template <Tensor (*slope)(Tensor x, Tensor y)>
Tensors chain(const Node& node, std::span<const Tensor> cts) {
  return {cts[0] * slope(node.inputs[0], result(node))};
}

Tensor slope_log(Tensor x, Tensor) { return 1.0 / x; }
Tensor slope_log1p(Tensor x, Tensor) { return 1.0 / (x + 1.0); }
Tensor slope_exp(Tensor, Tensor y) { return y; }
Tensor slope_expm1(Tensor, Tensor y) { return y + 1.0; }
Tensor slope_tanh(Tensor, Tensor y) { return 1.0 - y * y; }
Tensor slope_logistic(Tensor, Tensor y) { return y * (1.0 - y); }
Tensor slope_sqrt(Tensor, Tensor y) { return 0.5 / y; }
Tensor slope_rsqrt(Tensor x, Tensor y) { return -0.5 * y / x; }
// d erf(x) / dx = 2 exp(-x²) / √π
Tensor slope_erf(Tensor x, Tensor) { return 2.0 * std::numbers::inv_sqrtpi * exp(-(x * x)); }
Tensor slope_sin(Tensor x, Tensor) { return cos(x); }
Tensor slope_cos(Tensor x, Tensor) { return -sin(x); }
Tensor slope_abs(Tensor x, Tensor) { return sign(x); }

}  // namespace

constinit const Op kNeg{
    .name = "negate",
    .infer = same_number,
    .vjp = [](const Node&, std::span<const Tensor> cts) { return Tensors{-cts[0]}; },
    .emit = emit_as<"stablehlo.negate">,
    .examples = examples_in<neg, -2.0, 2.0>};
Tensor neg(Tensor x) { return apply(kNeg, {x}); }

constinit const Op kExp{.name = "exponential",
                        .infer = same_float,
                        .vjp = chain<slope_exp>,
                        .emit = emit_as<"stablehlo.exponential">,
                        .examples = examples_in<exp, -2.0, 2.0>};
Tensor exp(Tensor x) { return apply(kExp, {x}); }

constinit const Op kLog{.name = "log",
                        .infer = same_float,
                        .vjp = chain<slope_log>,
                        .emit = emit_as<"stablehlo.log">,
                        .examples = examples_in<log, 0.5, 4.0>};
Tensor log(Tensor x) { return apply(kLog, {x}); }

constinit const Op kLog1p{.name = "log_plus_one",
                          .infer = same_float,
                          .vjp = chain<slope_log1p>,
                          .emit = emit_as<"stablehlo.log_plus_one">,
                          .examples = examples_in<log1p, -0.5, 2.0>};
Tensor log1p(Tensor x) { return apply(kLog1p, {x}); }

constinit const Op kExpm1{.name = "exponential_minus_one",
                          .infer = same_float,
                          .vjp = chain<slope_expm1>,
                          .emit = emit_as<"stablehlo.exponential_minus_one">,
                          .examples = examples_in<expm1, -1.0, 1.0>};
Tensor expm1(Tensor x) { return apply(kExpm1, {x}); }

constinit const Op kTanh{.name = "tanh",
                         .infer = same_float,
                         .vjp = chain<slope_tanh>,
                         .emit = emit_as<"stablehlo.tanh">,
                         .examples = examples_in<tanh, -2.0, 2.0>};
Tensor tanh(Tensor x) { return apply(kTanh, {x}); }

constinit const Op kLogistic{.name = "logistic",
                             .infer = same_float,
                             .vjp = chain<slope_logistic>,
                             .emit = emit_as<"stablehlo.logistic">,
                             .examples = examples_in<logistic, -3.0, 3.0>};
Tensor logistic(Tensor x) { return apply(kLogistic, {x}); }

constinit const Op kSqrt{.name = "sqrt",
                         .infer = same_float,
                         .vjp = chain<slope_sqrt>,
                         .emit = emit_as<"stablehlo.sqrt">,
                         .examples = examples_in<sqrt, 0.5, 4.0>};
Tensor sqrt(Tensor x) { return apply(kSqrt, {x}); }

constinit const Op kRsqrt{.name = "rsqrt",
                          .infer = same_float,
                          .vjp = chain<slope_rsqrt>,
                          .emit = emit_as<"stablehlo.rsqrt">,
                          .examples = examples_in<rsqrt, 0.5, 4.0>};
Tensor rsqrt(Tensor x) { return apply(kRsqrt, {x}); }

// StableHLO has no erf; its client dialect CHLO has one, and every plugin accepts it.
constinit const Op kErf{.name = "erf",
                        .infer = same_float,
                        .vjp = chain<slope_erf>,
                        .emit = emit_as<"chlo.erf">,
                        .examples = examples_in<erf, -3.0, 3.0>};
Tensor erf(Tensor x) { return apply(kErf, {x}); }

constinit const Op kSin{.name = "sine",
                        .infer = same_float,
                        .vjp = chain<slope_sin>,
                        .emit = emit_as<"stablehlo.sine">,
                        .examples = examples_in<sin, -4.0, 4.0>};
Tensor sin(Tensor x) { return apply(kSin, {x}); }

constinit const Op kCos{.name = "cosine",
                        .infer = same_float,
                        .vjp = chain<slope_cos>,
                        .emit = emit_as<"stablehlo.cosine">,
                        .examples = examples_in<cos, -4.0, 4.0>};
Tensor cos(Tensor x) { return apply(kCos, {x}); }

constinit const Op kAbs{.name = "abs",
                        .infer = same_number,
                        .vjp = chain<slope_abs>,
                        .emit = emit_as<"stablehlo.abs">,
                        .examples = examples_in<abs, -2.0, -0.5>};
Tensor abs(Tensor x) { return apply(kAbs, {x}); }

constinit const Op kSign{.name = "sign",
                         .infer = same_number,
                         .vjp = flat,
                         .emit = emit_as<"stablehlo.sign">,
                         .examples = examples_in<sign, -2.0, 2.0>};
Tensor sign(Tensor x) { return apply(kSign, {x}); }

constinit const Op kFloor{.name = "floor",
                          .infer = same_float,
                          .vjp = flat,
                          .emit = emit_as<"stablehlo.floor">,
                          .examples = examples_in<floor, -2.0, 2.0>};
Tensor floor(Tensor x) { return apply(kFloor, {x}); }

constinit const Op kCeil{.name = "ceil",
                         .infer = same_float,
                         .vjp = flat,
                         .emit = emit_as<"stablehlo.ceil">,
                         .examples = examples_in<ceil, -2.0, 2.0>};
Tensor ceil(Tensor x) { return apply(kCeil, {x}); }

constinit const Op kRoundNearestEven{.name = "round_nearest_even",
                                     .infer = same_float,
                                     .vjp = flat,
                                     .emit = emit_as<"stablehlo.round_nearest_even">,
                                     .examples = examples_in<round_nearest_even, -2.0, 2.0>};
Tensor round_nearest_even(Tensor x) { return apply(kRoundNearestEven, {x}); }

constinit const Op kBitwiseNot{
    .name = "not",
    .infer = same_bits,
    .vjp = flat,
    .emit = emit_as<"stablehlo.not">,
    .examples = [] {
      return std::vector<OpExample>{
          {"s32, pred", {s32_input({6}, -9, 9), {{DType::pred, {4}}, 0, 2}}, [](Graph&, Inputs in) {
             return Tensors{bitwise_not(in[0]), bitwise_not(in[1])};
           }}};
    }};
Tensor bitwise_not(Tensor x) { return apply(kBitwiseNot, {x}); }

constinit const Op kIsFinite{
    .name = "is_finite",
    .infer =
        [](const Node& node) {
          require_float("is_finite", node.inputs[0].shape());
          return std::vector<Shape>{{DType::pred, node.inputs[0].dims()}};
        },
    .vjp = flat,
    .emit = emit_as<"stablehlo.is_finite">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"infinity and NaN", {}, [](Graph& g, Inputs) {
                 const double infinity = std::numeric_limits<double>::infinity();
                 const std::vector<double> values{1, infinity, -infinity, NAN};
                 return Tensors{is_finite(constant(g, values, {DType::f32, {4}}))};
               }}};
        }};
Tensor is_finite(Tensor x) { return apply(kIsFinite, {x}); }

}  // namespace smelt::compiler
