// The error message for every invalid use of a primitive op.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt::compiler {
namespace {

class ShapeErrors : public ::testing::Test {
 protected:
  Tensor f32(Dims dims) { return graph.argument({DType::f32, std::move(dims)}); }
  Tensor s32(Dims dims) { return graph.argument({DType::s32, std::move(dims)}); }
  Tensor pred(Dims dims) { return graph.argument({DType::pred, std::move(dims)}); }
  Tensor state() { return graph.argument({DType::u64, {3}}); }

  Graph graph;
};

// Returns the first line of the UsageError that `build` throws, and checks that it has a hint.
template <class Build>
std::string message(Build build) {
  try {
    build();
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("\n  hint: "), std::string::npos) << text;
    return text.substr(0, text.find('\n'));
  }
  return "no error";
}

TEST_F(ShapeErrors, ElementwiseOps) {
  EXPECT_EQ(message([&] { add(f32({2, 3}), f32({4, 3})); }),
            "add: f32[2,3] and f32[4,3] do not broadcast");
  EXPECT_EQ(message([&] { multiply(f32({2, 3}), s32({3})); }),
            "multiply: f32[2,3] and i32[3] differ in element type");
  EXPECT_EQ(message([&] { add(pred({2}), pred({2})); }), "add: i1[2] must have a numeric type");
  EXPECT_EQ(message([&] { exp(s32({2})); }), "exponential: i32[2] must have a floating-point type");
  EXPECT_EQ(message([&] { is_finite(s32({2})); }),
            "is_finite: i32[2] must have a floating-point type");
  EXPECT_EQ(message([&] { neg(pred({2})); }), "negate: i1[2] must have a numeric type");
  EXPECT_EQ(message([&] { bitwise_and(f32({2}), f32({2})); }),
            "and: f32[2] must have an integer or predicate type");
  EXPECT_EQ(message([&] { shift_left(pred({2}), pred({2})); }),
            "shift_left: i1[2] cannot be shifted");
  EXPECT_EQ(message([&] { bitcast_convert(f32({2}), DType::u64); }),
            "bitcast_convert: f32[2] to ui64: element sizes differ, or one is a predicate");
}

TEST_F(ShapeErrors, CompareSelectAndClamp) {
  EXPECT_EQ(message([&] { compare(f32({2}), f32({3}), Compare::eq); }),
            "compare: f32[2] and f32[3] do not broadcast");
  EXPECT_EQ(message([&] { select(f32({2}), f32({2}), f32({2})); }),
            "select: the predicate is f32[2], expected i1");
  EXPECT_EQ(message([&] { select(pred({2}), f32({3}), f32({3})); }),
            "select: i1[2] and f32[3] do not broadcast");
  EXPECT_EQ(message([&] { clamp(f32({2}), f32({3}), f32({})); }),
            "broadcast_to: f32[2] and f32[3] do not broadcast");
}

TEST_F(ShapeErrors, Constants) {
  EXPECT_EQ(message([&] { constant(graph, std::vector<double>{1, 2}, {DType::f32, {3}}); }),
            "constant: 2 values for f32[3], expected 3");
  EXPECT_EQ(message([&] { constant(graph, 0.5, DType::s32); }),
            "constant: 0.5 is not representable in i32");
  EXPECT_EQ(message([&] { constant(graph, 256, DType::u8); }),
            "constant: 256 is not representable in ui8");
  EXPECT_EQ(message([&] { constant(graph, -129, DType::s8); }),
            "constant: -129 is not representable in i8");
  EXPECT_EQ(message([&] { constant(graph, -1, DType::u32); }),
            "constant: -1 is not representable in ui32");
  EXPECT_EQ(message([&] { iota(graph, {DType::pred, {2}}, 0); }),
            "iota: i1[2] must have a numeric type");
  EXPECT_EQ(message([&] { iota(graph, {DType::s32, {2}}, 1); }), "iota: i32[2] has no axis 1");
}

TEST_F(ShapeErrors, Reductions) {
  EXPECT_EQ(message([&] { reduce_sum(f32({2, 3}), {2}); }), "reduce_sum: f32[2,3] has no axis 2");
  EXPECT_EQ(message([&] { reduce_max(f32({2, 3}), {0, -2}); }),
            "reduce_max: axes [0,-2] of f32[2,3] name one axis twice");
  EXPECT_EQ(message([&] { reduce_sum(pred({2}), {0}); }),
            "reduce_sum: i1[2] must have a numeric type");
  EXPECT_EQ(message([&] { argmax(f32({2, 0}), 1); }), "argmax: axis 1 of f32[2,0] is empty");
}

TEST_F(ShapeErrors, LayoutOps) {
  EXPECT_EQ(message([&] { reshape(f32({2, 3}), {4}); }),
            "reshape: cannot reshape f32[2,3] (6 elements) to f32[4] (4 elements)");
  EXPECT_EQ(message([&] { transpose(f32({2, 3}), {0}); }),
            "transpose: [0] is not a permutation of the axes of f32[2,3]");
  EXPECT_EQ(message([&] { transpose(f32({2, 3}), {1, 1}); }),
            "transpose: axes [1,1] of f32[2,3] name one axis twice");
  EXPECT_EQ(message([&] { broadcast_in_dim(f32({2}), {3, 4}, {0}); }),
            "broadcast_in_dim: cannot broadcast f32[2] to f32[3,4] along axes [0]");
  EXPECT_EQ(message([&] { broadcast_to(f32({2, 1}), {3}); }),
            "broadcast_to: f32[2,1] does not broadcast to f32[3]");
  EXPECT_EQ(message([&] { concatenate({f32({2, 3}), f32({2, 4})}, 0); }),
            "concatenate: f32[2,3] and f32[2,4] differ in an axis other than 0");
  EXPECT_EQ(message([&] { concatenate({f32({2}), s32({2})}, 0); }),
            "concatenate: f32[2] and i32[2] differ in element type");
  EXPECT_EQ(message([&] { concatenate({}, 0); }), "concatenate: no tensors to concatenate");
}

TEST_F(ShapeErrors, Slices) {
  EXPECT_EQ(message([&] { slice(f32({4}), {2}, {5}); }),
            "slice: start [2], limit [5], stride [1] do not fit f32[4]");
  EXPECT_EQ(message([&] { slice(f32({4}), {0}, {4}, {0}); }),
            "slice: start [0], limit [4], stride [0] do not fit f32[4]");
  EXPECT_EQ(message([&] { pad(f32({2}), 0, {-3}, {0}); }),
            "pad: low [-3], high [0], interior [0] do not fit f32[2]");
  EXPECT_EQ(message([&] { dynamic_slice(f32({2, 3}), {s32({})}, {1, 1}); }),
            "dynamic_slice: 1 start indices for f32[2,3], expected 2");
  EXPECT_EQ(message([&] { dynamic_slice(f32({2}), {f32({})}, {1}); }),
            "dynamic_slice: start index 0 is f32[], expected an integer scalar");
  EXPECT_EQ(message([&] { dynamic_slice(f32({2}), {s32({})}, {3}); }),
            "dynamic_slice: a slice of size [3] does not fit in f32[2]");
  EXPECT_EQ(message([&] { dynamic_update_slice(f32({2}), f32({3}), {s32({})}); }),
            "dynamic_update_slice: a slice of size [3] does not fit in f32[2]");
}

TEST_F(ShapeErrors, Matmuls) {
  EXPECT_EQ(message([&] { matmul(f32({8, 128}), f32({64, 32})); }),
            "dot_general: f32[8,128] x f32[64,32]: contracted dimensions 128 and 64 differ");
  EXPECT_EQ(message([&] { matmul(f32({2, 8, 4}), f32({3, 4, 5})); }),
            "dot_general: f32[2,8,4] x f32[3,4,5]: batch dimensions 2 and 3 differ");
  EXPECT_EQ(message([&] { matmul(f32({4}), f32({4})); }),
            "matmul: f32[4] x f32[4] cannot be multiplied");
  EXPECT_EQ(message([&] { dot_general(f32({4, 4}), f32({4}), {{}, {}, {0, 1}, {0}}); }),
            "dot_general: f32[4,4] x f32[4]: 0 and 0 batch axes, 2 and 1 contracted axes");
  EXPECT_EQ(message([&] { dot_general(f32({4}), f32({4}), {{}, {}, {1}, {0}}); }),
            "dot_general: f32[4] has no axis 1");
}

TEST_F(ShapeErrors, GathersAndScatters) {
  EXPECT_EQ(message([&] { gather_rows(f32({5, 2}), f32({3})); }),
            "gather_rows: cannot index table f32[5,2] with ids f32[3]");
  EXPECT_EQ(message([&] { scatter_add_rows(f32({5, 2}), s32({3}), f32({3, 3})); }),
            "scatter_add_rows: f32[3,2] and f32[3,3] differ in shape");
  EXPECT_EQ(message([&] { gather_items(f32({5, 2}), s32({3, 2})); }),
            "gather_items: cannot index items f32[5,2] with ids i32[3,2]");
  EXPECT_EQ(message([&] { gather_rows(f32({0, 2}), s32({3})); }),
            "gather_rows: cannot index table f32[0,2] with ids i32[3]");
}

TEST_F(ShapeErrors, ControlFlow) {
  const auto always = [](Graph& g, auto) { return std::vector{constant(g, 1, DType::pred)}; };
  EXPECT_EQ(message([&] {
              while_loop(
                  {f32({2})}, [](Graph&, auto x) { return std::vector{x[0]}; },
                  [](Graph&, auto x) { return std::vector{x[0]}; });
            }),
            "while: the condition must return one i1[]");
  EXPECT_EQ(message([&] {
              while_loop({f32({2})}, always,
                         [](Graph&, auto x) { return std::vector{reduce_sum(x[0], {0})}; });
            }),
            "while: value 0 has shape f32[2] before and f32[] after the body");
  EXPECT_EQ(message([&] {
              while_loop({f32({2})}, always, [](Graph&, auto) { return std::vector<Tensor>(); });
            }),
            "while: the body returns 0 values, expected 1");
  EXPECT_EQ(message([&] { sort({f32({2}), s32({3})}, 0, always); }),
            "sort: f32[2] and i32[3] differ in shape");
  EXPECT_EQ(message([&] { sort({f32({2})}, 0, [](Graph&, auto x) { return std::vector{x[0]}; }); }),
            "sort: the comparator must return one i1[]");
  EXPECT_EQ(message([&] { top_k(f32({2, 3}), 4); }), "top_k: k is 4, out of range for f32[2,3]");
}

TEST_F(ShapeErrors, Collectives) {
  EXPECT_EQ(message([&] { sharding_constraint(f32({2, 3}), {{"data"}}); }),
            "sharding_constraint: 1 entries for f32[2,3], expected 2");
  EXPECT_EQ(message([&] { all_reduce_sum(f32({2}), 0); }),
            "all_reduce_sum: replicas is 0, must be at least 1");
  EXPECT_EQ(message([&] { all_reduce_sum(pred({2}), 2); }),
            "all_reduce_sum: i1[2] must have a numeric type");
  EXPECT_EQ(message([&] { all_gather(f32({2}), 0, 0); }),
            "all_gather: replicas is 0, must be at least 1");
  EXPECT_EQ(message([&] { all_gather(f32({2}), 1, 2); }), "all_gather: f32[2] has no axis 1");
  EXPECT_EQ(message([&] { all_to_all(f32({2}), 0, 0, 0); }),
            "all_to_all: replicas is 0, must be at least 1");
  EXPECT_EQ(message([&] { all_to_all(f32({2, 3}), 2, 0, 2); }),
            "all_to_all: f32[2,3] has no axis 2");
  EXPECT_EQ(message([&] { all_to_all(f32({2, 3}), 1, 0, 2); }),
            "all_to_all: axis 1 of f32[2,3] does not divide over 2 replicas");
}

TEST_F(ShapeErrors, RejectTensorsOfAnotherGraph) {
  Graph other;
  const Tensor stranger = other.argument({DType::f32, {2}});
  EXPECT_THROW(add(f32({2}), stranger), BugError);
}

// Broadcasts are nodes of the graph; none is inserted if the shapes are equal.
TEST_F(ShapeErrors, OpsThatChangeNothingAddNoNodes) {
  const Tensor x = f32({2, 3});
  const std::size_t before = graph.nodes().size();
  add(x, x);
  EXPECT_EQ(graph.nodes().size(), before + 1);
  EXPECT_EQ(reshape(x, {2, 3}), x);
  EXPECT_EQ(transpose(x, {0, 1}), x);
  EXPECT_EQ(broadcast_to(x, {2, 3}), x);
  EXPECT_EQ(convert(x, DType::f32), x);
}

}  // namespace
}  // namespace smelt::compiler
