// Ops for programs on several devices.
#include <numeric>

#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

// Returns the attribute "replica_groups" with all replicas in one group.
std::string all_replicas(const Node& node) {
  const std::int64_t replicas = node.attrs.integer("replicas");
  Dims ids(replicas);
  std::iota(ids.begin(), ids.end(), 0);
  return str("replica_groups = dense<[", hlo_list(ids), "]> : tensor<1x", replicas, "xi64>");
}

void require_replicas(std::string_view where, std::int64_t replicas) {
  if (replicas < 1)
    throw UsageError(str(where, ": replicas is ", replicas, ", must be at least 1"),
                     "pass the number of replicas of the program");
}

}  // namespace

// Without a mesh it emits nothing, so that the same graph runs on one device.
constinit const Op kShardingConstraint{
    .name = "sharding_constraint",
    .infer = same_as_first,
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          return Tensors{sharding_constraint(cts[0], node.attrs.axes("gradient_axes"))};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          if (writer.mesh().empty()) return writer.alias(result(node), node.inputs[0]);
          writer.generic(node, "sdy.sharding_constraint",
                         "sharding = " + hlo_sharding(writer.mesh(), {node.attrs.axes("axes")},
                                                      node.results[0]));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"rows", {f64_input({8, 3})}, [](Graph&, Inputs in) {
                                           return Tensors{
                                               sharding_constraint(in[0], {{"data"}, {}})};
                                         }}};
        }};

Tensor sharding_constraint(Tensor x, const DimAxes& axes) {
  return sharding_constraint(x, axes, axes);
}

Tensor sharding_constraint(Tensor x, const DimAxes& axes, const DimAxes& gradient_axes) {
  for (const DimAxes& each : {axes, gradient_axes})
    if (static_cast<std::int64_t>(each.size()) != x.rank())
      throw UsageError(str("sharding_constraint: ", each.size(), " entries for ", x.shape(),
                           ", expected ", x.rank()),
                       "name the mesh axes (or none) for each dimension");
  return apply(kShardingConstraint, {x}, {{"axes", axes}, {"gradient_axes", gradient_axes}});
}

// Collectives without a gradient: how the cotangents of replicas combine depends on how the caller
// defines its loss.
constinit const Op kAllReduceSum{
    .name = "all_reduce_sum",
    .infer = same_number,
    .vjp = nullptr,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(node, "stablehlo.all_reduce", all_replicas(node));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"one replica", {f64_input({3})}, [](Graph&, Inputs in) {
                                           return Tensors{all_reduce_sum(in[0], 1)};
                                         }}};
        }};

Tensor all_reduce_sum(Tensor x, std::int64_t replicas) {
  require_replicas("all_reduce_sum", replicas);
  require_number("all_reduce_sum", x.shape());
  return apply(kAllReduceSum, {x}, {{"replicas", replicas}}, {add_region(x.dtype())});
}

// For a loss that is the sum over replicas: the cotangent of x is the sum of the cotangents that
// all replicas have for its slice.
constinit const Op kAllGather{
    .name = "all_gather",
    .infer =
        [](const Node& node) {
          Shape shape = node.inputs[0].shape();
          shape.dims[node.attrs.integer("axis")] *= node.attrs.integer("replicas");
          return std::vector<Shape>{shape};
        },
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          const std::int64_t axis = node.attrs.integer("axis"),
                             replicas = node.attrs.integer("replicas");
          Dims parts = node.inputs[0].dims();
          parts.insert(parts.begin() + axis, replicas);
          const Tensor own = all_to_all(reshape(cts[0], parts), axis, axis, replicas);
          return Tensors{reduce_sum(own, {axis})};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(
              node, "stablehlo.all_gather",
              str("all_gather_dim = ", node.attrs.integer("axis"), " : i64, ", all_replicas(node)));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"one replica", {f64_input({2, 3})}, [](Graph&, Inputs in) {
                                           return Tensors{all_gather(in[0], -1, 1)};
                                         }}};
        }};

Tensor all_gather(Tensor x, std::int64_t axis, std::int64_t replicas) {
  require_replicas("all_gather", replicas);
  return apply(kAllGather, {x},
               {{"axis", positive_axis("all_gather", axis, x.shape())}, {"replicas", replicas}});
}

constinit const Op kAllToAll{
    .name = "all_to_all",
    .infer =
        [](const Node& node) {
          const std::int64_t replicas = node.attrs.integer("replicas"),
                             split_axis = node.attrs.integer("split_axis");
          Shape shape = node.inputs[0].shape();
          if (shape.dims[split_axis] % replicas != 0)
            throw UsageError(str("all_to_all: axis ", split_axis, " of ", shape,
                                 " does not divide over ", replicas, " replicas"),
                             "choose a multiple of the number of replicas");
          shape.dims[split_axis] /= replicas;
          shape.dims[node.attrs.integer("concat_axis")] *= replicas;
          return std::vector<Shape>{shape};
        },
    .vjp = nullptr,
    .emit =
        [](const Node& node, HloWriter& writer) {
          writer.generic(
              node, "stablehlo.all_to_all",
              str("concat_dimension = ", node.attrs.integer("concat_axis"), " : i64, ",
                  all_replicas(node), ", split_count = ", node.attrs.integer("replicas"),
                  " : i64, split_dimension = ", node.attrs.integer("split_axis"), " : i64"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"one replica", {f64_input({2, 3})}, [](Graph&, Inputs in) {
                                           return Tensors{all_to_all(in[0], 0, -1, 1)};
                                         }}};
        }};

Tensor all_to_all(Tensor x, std::int64_t split_axis, std::int64_t concat_axis,
                  std::int64_t replicas) {
  require_replicas("all_to_all", replicas);
  return apply(kAllToAll, {x},
               {{"split_axis", positive_axis("all_to_all", split_axis, x.shape())},
                {"concat_axis", positive_axis("all_to_all", concat_axis, x.shape())},
                {"replicas", replicas}});
}

}  // namespace smelt::compiler
