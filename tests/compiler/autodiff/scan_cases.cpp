#include "compiler/autodiff/scan_cases.h"

#include "compiler/ops/ops.h"

namespace smelt::testing {

using compiler::concatenate;
using compiler::constant;
using compiler::Dims;
using compiler::DType;
using compiler::exp;
using compiler::full_like;
using compiler::gather_rows;
using compiler::Graph;
using compiler::matmul;
using compiler::OpExample;
using compiler::reduce_sum;
using compiler::remainder;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::slice_axis;
using compiler::stop_gradient;
using compiler::tanh;
using compiler::Tensor;
namespace {

using Tensors = std::vector<Tensor>;
using Inputs = std::span<const Tensor>;

Tensor row(Tensor stacked, std::int64_t at) {
  const Dims dims(stacked.dims().begin() + 1, stacked.dims().end());
  return reshape(slice_axis(stacked, 0, at, at + 1), dims);
}

Tensor stack(const Tensors& items) {
  Tensors rows;
  for (const Tensor& t : items) {
    Dims dims = t.dims();
    dims.insert(dims.begin(), 1);
    rows.push_back(reshape(t, dims));
  }
  return concatenate(rows, 0);
}

ScanStep by_hand(Graph& graph, std::int64_t length, const Tensors& init, const Loop::Body& body) {
  Tensors carry = init;
  std::vector<Tensors> outputs;
  for (std::int64_t i = 0; i < length; ++i) {
    ScanStep step = body({.slice = [i](Tensor t) { return row(t, i); },
                          .index = constant(graph, static_cast<double>(i), DType::s32),
                          .carry = carry,
                          .save = RematPolicy::all});
    carry = std::move(step.carry);
    outputs.resize(step.outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k].push_back(step.outputs[k]);
  }
  ScanStep out{.carry = carry};
  for (const Tensors& items : outputs) out.outputs.push_back(stack(items));
  return out;
}

}  // namespace

ScanStep Loop::run(Graph& graph, std::int64_t length, const Tensors& init, const Body& body) const {
  if (!scan_) return by_hand(graph, length, init, body);
  return scan(graph, length, init, save_, [&](ScanBody& b, std::span<const Tensor> carry) {
    return body({.slice = [&](Tensor t) { return b.slice(t); },
                 .index = b.index(),
                 .carry = {carry.begin(), carry.end()},
                 .save = save_});
  });
}

std::vector<ScanCase> scan_cases(DType dtype) {
  const auto real = [dtype](Dims dims) {
    return OpExample::Input{.shape = {dtype, std::move(dims)}, .low = -1, .high = 1};
  };
  const OpExample::Input ids{.shape = {DType::s32, {3, 2}}, .low = 0, .high = 5};
  return {
      {"layers with separate weights",
       {real({2, 4}), real({3, 4, 4}), real({3, 4})},
       [](Graph& g, Inputs in, const Loop& loop) {
         return loop
             .run(g, 3, {in[0]},
                  [&](const Loop::Step& s) -> ScanStep {
                    const Tensor y = matmul(s.carry[0], s.slice(in[1])) + s.slice(in[2]);
                    return {.carry = {s.carry[0] + tanh(y)}};
                  })
             .carry;
       }},
      {"captured weights, one of them without a gradient, and a constant from outside",
       {real({2, 4}), real({4, 4}), real({4})},
       [](Graph& g, Inputs in, const Loop& loop) {
         const Tensor still = stop_gradient(in[2] * in[2]), one = constant(g, 1, in[0].dtype());
         return loop
             .run(g, 4, {in[0]},
                  [&](const Loop::Step& s) -> ScanStep {
                    return {.carry = {tanh(matmul(s.carry[0], in[1])) * still + one}};
                  })
             .carry;
       }},
      {"outputs, with their gradients",
       {real({3}), real({5, 3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         const ScanStep out = loop.run(g, 5, {in[0]}, [&](const Loop::Step& s) -> ScanStep {
           const Tensor x = s.carry[0] * s.slice(in[1]);
           return {.carry = {x + 1.0}, .outputs = {exp(x), reduce_sum(x, {0}), s.index}};
         });
         return Tensors{out.carry[0], out.outputs[0], out.outputs[1], out.outputs[2]};
       }},
      {"ids: stacked, captured and carried",
       {real({2, 4}), real({5, 4}), ids, {.shape = {DType::s32, {2}}, .low = 0, .high = 5}},
       [](Graph& g, Inputs in, const Loop& loop) {
         const ScanStep out = loop.run(g, 3, {in[0], in[3]}, [&](const Loop::Step& s) -> ScanStep {
           const Tensor more = gather_rows(in[1], s.slice(in[2])) + gather_rows(in[1], in[3]);
           const Tensor next = remainder(s.carry[1] + s.index, full_like(s.carry[1], 5));
           return {.carry = {s.carry[0] * more + gather_rows(in[1], s.carry[1]), next}};
         });
         return out.carry;
       }},
      {"several carries: one unchanged, two swapped, one replaced",
       {real({3}), real({3}), real({3}), real({3}), real({3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         return loop
             .run(g, 3, {in[0], in[1], in[2], in[3]},
                  [&](const Loop::Step& s) -> ScanStep {
                    const Tensors& c = s.carry;
                    return {.carry = {c[0], c[2], c[1] * c[0] + tanh(c[3]), in[4]}};
                  })
             .carry;
       }},
      {"one tensor in several roles",
       {real({3, 3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         return loop
             .run(g, 3, {in[0], in[0]},
                  [&](const Loop::Step& s) -> ScanStep {
                    const Tensor w = s.slice(in[0]) * tanh(s.slice(in[0]));
                    return {.carry = {matmul(s.carry[0], in[0]) + w, s.carry[0] * s.carry[1]}};
                  })
             .carry;
       }},
      {"one iteration",
       {real({2, 3}), real({1, 3, 3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         const ScanStep out = loop.run(g, 1, {in[0]}, [&](const Loop::Step& s) -> ScanStep {
           const Tensor y = tanh(matmul(s.carry[0], s.slice(in[1])));
           return {.carry = {y}, .outputs = {y * y}};
         });
         return Tensors{out.carry[0], out.outputs[0]};
       }},
      {"nothing carried",
       {real({4, 3}), real({3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         return loop
             .run(g, 4, {},
                  [&](const Loop::Step& s) -> ScanStep {
                    return {.carry = {}, .outputs = {tanh(s.slice(in[0])) * in[1]}};
                  })
             .outputs;
       }},
      {"a nested while loop, without gradient",
       {real({3}), real({3, 3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         return loop
             .run(g, 3, {in[0]},
                  [&](const Loop::Step& s) -> ScanStep {
                    Graph& inner = s.carry[0].graph();
                    const Tensor start = stop_gradient(s.carry[0]), w = stop_gradient(in[0]);
                    const auto norm =
                        scan(inner, 2, {start}, RematPolicy::none,
                             [&](ScanBody&, Inputs c) { return ScanStep{{c[0] * w + 1.0}}; });
                    return {.carry = {s.carry[0] * s.slice(in[1]) / (norm.carry[0] + 4.0)}};
                  })
             .carry;
       }},
      {"a nested scan, with gradient",
       {real({2, 3}), real({3, 2, 3, 3}), real({3, 3})},
       [](Graph& g, Inputs in, const Loop& loop) {
         return loop
             .run(g, 3, {in[0]},
                  [&](const Loop::Step& s) -> ScanStep {
                    const Tensor weights = s.slice(in[1]);
                    const ScanStep inner = loop.run(
                        s.carry[0].graph(), 2, {s.carry[0]}, [&](const Loop::Step& t) -> ScanStep {
                          const Tensor y = matmul(t.carry[0], t.slice(weights) + in[2]);
                          return {.carry = {tanh(y) + s.carry[0]}, .outputs = {y}};
                        });
                    const Tensor most = reduce_sum(inner.outputs[0], {0});
                    return {.carry = {inner.carry[0] + most * 0.5}};
                  })
             .carry;
       }}};
}

}  // namespace smelt::testing
