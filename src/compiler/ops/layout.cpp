// Ops that move elements: reshape, transpose, broadcast, concatenate, reverse.
#include <numeric>

#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

Dims indices(std::int64_t count) {
  Dims out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

constinit const Op kReshape{
    .name = "reshape",
    .infer =
        [](const Node& node) {
          const Shape& x = node.inputs[0].shape();
          const Shape shape{x.dtype, node.attrs.dims("dims")};
          if (shape.elements() != x.elements())
            throw UsageError(str("reshape: cannot reshape ", x, " (", x.elements(),
                                 " elements) to ", shape, " (", shape.elements(), " elements)"),
                             "keep the number of elements");
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          return Tensors{reshape(cts[0], node.inputs[0].dims())};
        },
    .emit = emit_as<"stablehlo.reshape">,
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64", {f64_input({2, 6}), f64_input({1, 1})}, [](Graph&, Inputs in) {
                 return Tensors{reshape(in[0], {3, 1, 4}), reshape(in[1], {})};
               }}};
        },
    .saving = RematClass::moved};

Tensor reshape(Tensor x, Dims dims) {
  if (x.dims() == dims) return x;
  return apply(kReshape, {x}, {{"dims", std::move(dims)}});
}

constinit const Op kTranspose{
    .name = "transpose",
    .infer =
        [](const Node& node) {
          const Shape& x = node.inputs[0].shape();
          const Dims& permutation = node.attrs.dims("permutation");
          if (positive_axes("transpose", permutation, x).size() != x.dims.size())
            throw UsageError(str("transpose: ", dims_text(permutation),
                                 " is not a permutation of the axes of ", x),
                             "name every axis once");
          Shape shape{x.dtype, {}};
          for (const std::int64_t axis : permutation) shape.dims.push_back(x.dims[axis]);
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Dims& permutation = node.attrs.dims("permutation");
          Dims inverse(permutation.size());
          for (std::size_t i = 0; i < permutation.size(); ++i)
            inverse[permutation[i]] = static_cast<std::int64_t>(i);
          return Tensors{transpose(cts[0], inverse)};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.transpose",
                         "permutation = " + hlo_dims(node.attrs.dims("permutation")));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"f64", {f64_input({2, 3, 4})}, [](Graph&, Inputs in) {
                                           return Tensors{transpose(in[0], {2, 0, 1}),
                                                          transpose(in[0], {0, -1, 1})};
                                         }}};
        },
    .saving = RematClass::moved};

Tensor transpose(Tensor x, const Dims& permutation) {
  Dims positive;
  for (const std::int64_t axis : permutation)
    positive.push_back(positive_axis("transpose", axis, x.shape()));
  if (positive == indices(x.rank())) return x;
  return apply(kTranspose, {x}, {{"permutation", positive}});
}

constinit const Op kBroadcastInDim{
    .name = "broadcast_in_dim",
    .infer =
        [](const Node& node) {
          const Shape& x = node.inputs[0].shape();
          const Shape shape{x.dtype, node.attrs.dims("dims")};
          const Dims& at = node.attrs.dims("broadcast_dims");
          bool fits = at.size() == x.dims.size();
          for (std::size_t i = 0; fits && i < at.size(); ++i)
            fits = at[i] >= 0 && at[i] < shape.rank() && (i == 0 || at[i] > at[i - 1]) &&
                   (x.dims[i] == 1 || x.dims[i] == shape.dims[at[i]]);
          if (!fits)
            throw UsageError(
                str("broadcast_in_dim: cannot broadcast ", x, " to ", shape, " along axes ",
                    dims_text(at)),
                "name one result axis of equal size per operand axis, in rising order");
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const Tensor x = node.inputs[0];
          const Dims& at = node.attrs.dims("broadcast_dims");
          Dims spread = other_axes(cts[0].rank(), at);
          for (std::size_t i = 0; i < at.size(); ++i)
            if (x.dims()[i] == 1 && cts[0].dims()[at[i]] != 1) spread.push_back(at[i]);
          return Tensors{reshape(spread.empty() ? cts[0] : reduce_sum(cts[0], spread), x.dims())};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.broadcast_in_dim",
                         "broadcast_dimensions = " + hlo_dims(node.attrs.dims("broadcast_dims")));
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64", {f64_input({3}), f64_input({2, 1}), f64_input({})}, [](Graph&, Inputs in) {
                 return Tensors{broadcast_in_dim(in[0], {3, 2}, {0}),
                                broadcast_to(in[1], {4, 2, 3}), broadcast_to(in[2], {2, 2})};
               }}};
        },
    .saving = RematClass::moved};

Tensor broadcast_in_dim(Tensor x, Dims dims, const Dims& broadcast_dims) {
  if (x.dims() == dims && broadcast_dims == indices(x.rank())) return x;
  return apply(kBroadcastInDim, {x},
               {{"dims", std::move(dims)}, {"broadcast_dims", broadcast_dims}});
}

Tensor broadcast_to(Tensor x, const Dims& dims) {
  const Shape target{x.dtype(), dims};
  if (broadcast_dims("broadcast_to", x.shape(), target) != dims)
    throw UsageError(str("broadcast_to: ", x.shape(), " does not broadcast to ", target),
                     "make dimensions equal or 1, aligned at the last axis");
  Dims at = indices(x.rank());
  for (std::int64_t& axis : at) axis += target.rank() - x.rank();
  return broadcast_in_dim(x, dims, at);
}

constinit const Op kConcatenate{
    .name = "concatenate",
    .infer =
        [](const Node& node) {
          const std::int64_t axis = node.attrs.integer("axis");
          Shape shape = node.inputs[0].shape();
          for (std::size_t i = 1; i < node.inputs.size(); ++i) {
            const Shape& next = node.inputs[i].shape();
            require_same_dtype("concatenate", shape, next);
            bool fits = next.rank() == shape.rank();
            for (std::int64_t d = 0; fits && d < shape.rank(); ++d)
              fits = d == axis || next.dims[d] == shape.dims[d];
            if (!fits)
              throw UsageError(str("concatenate: ", node.inputs[0].shape(), " and ", next,
                                   " differ in an axis other than ", axis),
                               "make all other dimensions equal");
            shape.dims[axis] += next.dims[axis];
          }
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const std::int64_t axis = node.attrs.integer("axis");
          Tensors out;
          std::int64_t start = 0;
          for (const Tensor& x : node.inputs) {
            out.push_back(slice_axis(cts[0], axis, start, start + x.dim(axis)));
            start += x.dim(axis);
          }
          return out;
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.concatenate",
                         str("dimension = ", node.attrs.integer("axis"), " : i64"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{
              {"f64",
               {f64_input({2, 1, 3}), f64_input({2, 2, 3}), f64_input({2, 4, 3})},
               [](Graph&, Inputs in) { return Tensors{concatenate({in[0], in[1], in[2]}, -2)}; }}};
        }};

Tensor concatenate(const std::vector<Tensor>& xs, std::int64_t axis) {
  if (xs.empty())
    throw UsageError("concatenate: no tensors to concatenate", "pass at least one tensor");
  const std::int64_t at = positive_axis("concatenate", axis, xs[0].shape());
  return xs.size() == 1 ? xs[0] : apply(kConcatenate, xs, {{"axis", at}});
}

constinit const Op kReverse{
    .name = "reverse",
    .infer = same_as_first,
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          return Tensors{reverse(cts[0], node.attrs.dims("axes"))};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.reverse",
                         "dimensions = " + hlo_dims(node.attrs.dims("axes")));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"f64", {f64_input({2, 3, 2})}, [](Graph&, Inputs in) {
                                           return Tensors{reverse(in[0], {1}),
                                                          reverse(in[0], {0, -1})};
                                         }}};
        }};

Tensor reverse(Tensor x, const Dims& axes) {
  return apply(kReverse, {x}, {{"axes", positive_axes("reverse", axes, x.shape())}});
}

}  // namespace smelt::compiler
