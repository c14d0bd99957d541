// A computation that runs separately on each shard of a mesh axis (Shardy's manual computation).
#include "compiler/ops/rules.h"

namespace smelt::compiler {
namespace {

// Returns `[{"data", ?}, {?}]`: dimension 0 is split over the axis if `split`; all else is left to
// the compiler.
std::string sharding_of_shard(const Shape& shape, const std::string& axis, bool split) {
  std::vector<std::string> dims(shape.dims.size(), "{?}");
  if (split) dims.at(0) = str("{\"", axis, "\", ?}");
  return str("<@mesh, [", join(dims, ", "), "]>");
}

const std::string& axis_of(const Node& node) { return node.attrs.axes("axis")[0][0]; }

std::vector<Shape> infer_shards(const Node& node) {
  std::vector<Shape> out;
  for (const Tensor& t : node.regions[0]->results) {
    out.push_back(t.shape());
    out.back().dims[0] *= node.attrs.integer("shards");
  }
  return out;
}

void emit_shards(const Node& node, HloWriter& writer) {
  CHECK(!writer.mesh().empty(), "per_shard: the program has no mesh");
  std::vector<std::string> in, out;
  for (const Tensor& t : node.inputs)
    in.push_back(
        sharding_of_shard(t.shape(), axis_of(node), std::ssize(in) < node.attrs.integer("rows")));
  for (const Shape& shape : node.results)
    out.push_back(sharding_of_shard(shape, axis_of(node), true));
  writer.generic(node, "sdy.manual_computation",
                 str("in_shardings = #sdy.sharding_per_value<[", join(in, ", "),
                     "]>, out_shardings = #sdy.sharding_per_value<[", join(out, ", "),
                     "]>, manual_axes = #sdy<manual_axes{\"", axis_of(node), "\"}>"));
}

}  // namespace

constinit const Op kPerShard{.name = "per_shard",
                             .infer = infer_shards,
                             .vjp = nullptr,
                             .emit = emit_shards,
                             .examples = nullptr};

std::vector<Tensor> per_shard(Graph& graph, const std::string& axis, std::int64_t shards,
                              const std::vector<Tensor>& rows, const RegionBuilder& body) {
  Graph inner(&graph);
  std::vector<Tensor> inputs = rows, arguments;
  for (const Tensor& t : rows) {
    Shape shape = t.shape();
    CHECK(shape.rank() > 0 && shape.dims[0] % shards == 0, shape, " in ", shards, " shards");
    shape.dims[0] /= shards;
    arguments.push_back(inner.argument(shape));
  }
  std::vector<Tensor> results;
  for (const Tensor& t : body(inner, arguments)) {
    Dims dims = t.dims();
    dims.insert(dims.begin(), 1);
    results.push_back(reshape(inner.capture(t), dims));
  }
  for (const auto& [outside, argument] : inner.captured()) {
    inputs.push_back(outside);
    arguments.push_back(argument);
  }
  return results_of(
      graph.apply(kPerShard, inputs,
                  {{"axis", DimAxes{{axis}}}, {"shards", shards}, {"rows", std::ssize(rows)}},
                  {region_of(arguments, results)}));
}

}  // namespace smelt::compiler
