// Ops that speak of several devices.
#include <numeric>

#include "ops/rules.h"

namespace smelt {
namespace {

Sharding sharding_of(const Node& node) {
  Sharding sharding;
  if (node.inputs[0].rank() == 0) return sharding;
  for (const std::string_view axis : split(node.attrs.text("axes"), ','))
    sharding.axes.emplace_back(axis);
  return sharding;
}

}  // namespace

// Without a mesh it is nothing but another name: the same graph runs on one device.
constinit const Op kShardingConstraint{
    .name = "sharding_constraint",
    .infer = same_as_first,
    .vjp =
        [](const Node& node, std::span<const Tensor> cts) {
          return Tensors{sharding_constraint(cts[0], sharding_of(node).axes)};
        },
    .emit =
        [](const Node& node, HloWriter& writer) {
          if (writer.mesh().empty()) return writer.alias(result(node), node.inputs[0]);
          writer.generic(
              node, "sdy.sharding_constraint",
              "sharding = " + hlo_sharding(writer.mesh(), sharding_of(node), node.results[0]));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"rows", {f64_input({8, 3})}, [](Graph&, Inputs in) {
                                           return Tensors{sharding_constraint(in[0], {"data", ""})};
                                         }}};
        }};

Tensor sharding_constraint(Tensor x, const std::vector<std::string>& axes) {
  if (static_cast<std::int64_t>(axes.size()) != x.rank())
    throw UsageError(str("sharding_constraint: ", axes.size(), " axes for ", x.shape()),
                     "name one mesh axis (or \"\") for each dimension");
  return apply(kShardingConstraint, {x}, {{"axes", join(axes, ",")}});
}

// No gradient: whether the cotangent is to be summed again depends on what the caller means by its
// loss.
constinit const Op kAllReduceSum{
    .name = "all_reduce_sum",
    .infer = same_number,
    .vjp = nullptr,
    .emit =
        [](const Node& node, HloWriter& writer) {
          const std::int64_t replicas = node.attrs.integer("replicas");
          Dims ids(replicas);
          std::iota(ids.begin(), ids.end(), 0);
          writer.generic(
              node, "stablehlo.all_reduce",
              str("replica_groups = dense<[", hlo_list(ids), "]> : tensor<1x", replicas, "xi64>"));
        },
    .examples =
        [] {
          return std::vector<OpExample>{{"one replica", {f64_input({3})}, [](Graph&, Inputs in) {
                                           return Tensors{all_reduce_sum(in[0], 1)};
                                         }}};
        }};

Tensor all_reduce_sum(Tensor x, std::int64_t replicas) {
  if (replicas < 1)
    throw UsageError(str("all_reduce_sum: ", replicas, " replicas"), "give 1 or more");
  require_number("all_reduce_sum", x.shape());
  return apply(kAllReduceSum, {x}, {{"replicas", replicas}}, {add_region(x.dtype())});
}

}  // namespace smelt
