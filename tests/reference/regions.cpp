// Ops that contain regions (reductions, while, scan, sort), and the sum over devices.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "reference/interpreter.h"

namespace smelt::testing {

using compiler::Dims;
using compiler::DType;
using compiler::Node;
using compiler::Region;
using compiler::Shape;
namespace {

using Values = std::vector<Value>;

Values run(const Region& region, const Values& arguments) {
  return interpret(region.graph, region.results, arguments);
}

// Folds the reduced elements with the region, one after another in row-major order.
Values reduce(const Node& node, const Values& in) {
  const std::size_t count = in.size() / 2;
  const Dims& axes = node.attrs.dims("axes");
  const Dims& from = in[0].shape.dims;
  Dims kept_axes, kept;
  for (std::int64_t i = 0; i < in[0].shape.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      kept_axes.push_back(i);
      kept.push_back(from[i]);
    }
  Values out;
  for (std::size_t k = 0; k < count; ++k) {
    out.push_back(empty_value({in[k].shape.dtype, kept}));
    for (std::int64_t i = 0; i < out[k].size(); ++i) copy_element(in[count + k], 0, out[k], i);
  }
  for_each_index(from, [&](const Dims& index, std::int64_t at) {
    Dims target;
    for (const auto axis : kept_axes) target.push_back(index[axis]);
    const std::int64_t to = position(kept, target);
    Values arguments;
    for (std::size_t k = 0; k < count; ++k) arguments.push_back(element(out[k], to));
    for (std::size_t k = 0; k < count; ++k) arguments.push_back(element(in[k], at));
    const Values folded = run(*node.regions[0], arguments);
    for (std::size_t k = 0; k < count; ++k) copy_element(folded[k], 0, out[k], to);
  });
  return out;
}

Values while_loop(const Node& node, const Values& in) {
  Values state = in;
  while (run(*node.regions[0], state)[0].bits[0] != 0) state = run(*node.regions[1], state);
  return state;
}

Values sort(const Node& node, const Values& in) {
  const std::int64_t axis = node.attrs.integer("axis");
  const Dims& dims = in[0].shape.dims;
  Values out = in;
  for_each_index(dims, [&](Dims index, std::int64_t) {
    if (index[axis] != 0) return;
    const auto at = [&](std::int64_t i) {
      index[axis] = i;
      return position(dims, index);
    };
    std::vector<std::int64_t> order(dims[axis]);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      Values arguments;
      for (const Value& operand : in) {
        arguments.push_back(element(operand, at(a)));
        arguments.push_back(element(operand, at(b)));
      }
      return run(*node.regions[0], arguments)[0].bits[0] != 0;
    });
    for (std::size_t k = 0; k < in.size(); ++k)
      for (std::int64_t i = 0; i < dims[axis]; ++i)
        copy_element(in[k], at(order[i]), out[k], at(i));
  });
  return out;
}

Values top_k(const Node& node, const Values& in) {
  const std::int64_t k = node.attrs.integer("k"), width = in[0].shape.dims.back();
  Values out{empty_value(node.results[0]), empty_value(node.results[1])};
  for (std::int64_t row = 0; row < in[0].size() / width; ++row) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(width));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      const std::int64_t first = row * width;
      return in[0].is_real() ? in[0].real[first + a] > in[0].real[first + b]
                             : in[0].integer(first + a) > in[0].integer(first + b);
    });
    for (std::int64_t i = 0; i < k; ++i) {
      copy_element(in[0], row * width + order[i], out[0], row * k + i);
      out[1].bits[row * k + i] = static_cast<std::uint64_t>(order[i]);
    }
  }
  return out;
}

Value slice_of(const Value& stack, std::int64_t at) {
  Shape shape = stack.shape;
  shape.dims.erase(shape.dims.begin());
  Value out = empty_value(shape);
  for (std::int64_t i = 0; i < out.size(); ++i) copy_element(stack, at * out.size() + i, out, i);
  return out;
}

Values scan(const Node& node, const Values& in) {
  const std::int64_t length = node.attrs.integer("length");
  const auto carried = node.attrs.integer("carried"), stacked = node.attrs.integer("stacked");
  Values carry(in.begin(), in.begin() + carried), out;
  for (const Shape& shape : node.results) out.push_back(empty_value(shape));
  for (std::int64_t count = 0; count < length; ++count) {
    const std::int64_t at = node.attrs.integer("reverse") == 1 ? length - 1 - count : count;
    Value index = empty_value({DType::s32, {}});
    index.bits[0] = static_cast<std::uint64_t>(at);
    Values arguments{index};
    arguments.insert(arguments.end(), carry.begin(), carry.end());
    for (std::int64_t i = carried; i < carried + stacked; ++i)
      arguments.push_back(slice_of(in[i], at));
    arguments.insert(arguments.end(), in.begin() + carried + stacked, in.end());
    const Values results = run(*node.regions[0], arguments);
    carry.assign(results.begin(), results.begin() + carried);
    for (std::size_t i = carried; i < results.size(); ++i)
      for (std::int64_t j = 0; j < results[i].size(); ++j)
        copy_element(results[i], j, out[i], at * results[i].size() + j);
  }
  std::ranges::copy(carry, out.begin());
  return out;
}

// Ops over replicas return the first replica's result, for inputs that are equal on all replicas.
Values all_reduce_sum(const Node& node, const Values& in) {
  Value out = in[0];
  for (double& x : out.real) x *= static_cast<double>(node.attrs.integer("replicas"));
  return {out};
}

}  // namespace

Rules region_rules() {
  return {{"reduce_sum", reduce}, {"reduce_max", reduce},
          {"argmax", reduce},     {"while", while_loop},
          {"scan", scan},         {"sort", sort},
          {"top_k", top_k},       {"all_reduce_sum", all_reduce_sum}};
}

}  // namespace smelt::testing
