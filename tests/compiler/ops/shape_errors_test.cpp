// Every wrong use of a primitive, by the text of its error.
#include <gtest/gtest.h>

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt {
namespace {

class ShapeErrors : public ::testing::Test {
 protected:
  Tensor f32(Dims dims) { return graph.argument({DType::f32, std::move(dims)}); }
  Tensor s32(Dims dims) { return graph.argument({DType::s32, std::move(dims)}); }
  Tensor pred(Dims dims) { return graph.argument({DType::pred, std::move(dims)}); }
  Tensor state() { return graph.argument({DType::u64, {3}}); }

  Graph graph;
};

// The first line of the UsageError that `build` throws; the hint must be there too.
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

TEST_F(ShapeErrors, AreToldOfElementwiseOps) {
  EXPECT_EQ(message([&] { add(f32({2, 3}), f32({4, 3})); }),
            "add: f32[2,3] and f32[4,3] do not broadcast");
  EXPECT_EQ(message([&] { multiply(f32({2, 3}), s32({3})); }),
            "multiply: f32[2,3] and i32[3] differ in element type");
  EXPECT_EQ(message([&] { add(pred({2}), pred({2})); }), "add: i1[2] is not of numbers");
  EXPECT_EQ(message([&] { exp(s32({2})); }), "exponential: i32[2] is not of floats");
  EXPECT_EQ(message([&] { is_finite(s32({2})); }), "is_finite: i32[2] is not of floats");
  EXPECT_EQ(message([&] { neg(pred({2})); }), "negate: i1[2] is not of numbers");
  EXPECT_EQ(message([&] { bitwise_and(f32({2}), f32({2})); }),
            "and: f32[2] has no bits to work on");
  EXPECT_EQ(message([&] { shift_left(pred({2}), pred({2})); }),
            "shift_left: i1[2] cannot be shifted");
  EXPECT_EQ(message([&] { bitcast_convert(f32({2}), DType::u64); }),
            "bitcast_convert: f32[2] to ui64: elements differ in size");
}

TEST_F(ShapeErrors, AreToldOfComparisonAndChoice) {
  EXPECT_EQ(message([&] { compare(f32({2}), f32({3}), Compare::eq); }),
            "compare: f32[2] and f32[3] do not broadcast");
  EXPECT_EQ(message([&] { select(f32({2}), f32({2}), f32({2})); }),
            "select: f32[2] is not of predicates");
  EXPECT_EQ(message([&] { select(pred({2}), f32({3}), f32({3})); }),
            "select: i1[2] and f32[3] do not broadcast");
  EXPECT_EQ(message([&] { clamp(f32({2}), f32({3}), f32({})); }),
            "broadcast_to: f32[2] and f32[3] do not broadcast");
}

TEST_F(ShapeErrors, AreToldOfLeaves) {
  EXPECT_EQ(message([&] { constant(graph, std::vector<double>{1, 2}, {DType::f32, {3}}); }),
            "constant: 2 values for f32[3]");
  EXPECT_EQ(message([&] { constant(graph, 0.5, DType::s32); }), "constant: 0.5 is no value of i32");
  EXPECT_EQ(message([&] { constant(graph, 256, DType::u8); }), "constant: 256 is no value of ui8");
  EXPECT_EQ(message([&] { constant(graph, -129, DType::s8); }), "constant: -129 is no value of i8");
  EXPECT_EQ(message([&] { constant(graph, -1, DType::u32); }), "constant: -1 is no value of ui32");
  EXPECT_EQ(message([&] { iota(graph, {DType::pred, {2}}, 0); }), "iota: i1[2] is not of numbers");
  EXPECT_EQ(message([&] { iota(graph, {DType::s32, {2}}, 1); }), "iota: i32[2] has no axis 1");
}

TEST_F(ShapeErrors, AreToldOfReductions) {
  EXPECT_EQ(message([&] { reduce_sum(f32({2, 3}), {2}); }), "reduce_sum: f32[2,3] has no axis 2");
  EXPECT_EQ(message([&] { reduce_max(f32({2, 3}), {0, -2}); }),
            "reduce_max: axes [0,-2] of f32[2,3] name one axis twice");
  EXPECT_EQ(message([&] { reduce_sum(pred({2}), {0}); }), "reduce_sum: i1[2] is not of numbers");
  EXPECT_EQ(message([&] { argmax(f32({2, 0}), 1); }), "argmax: axis 1 of f32[2,0] is empty");
}

TEST_F(ShapeErrors, AreToldOfLayoutOps) {
  EXPECT_EQ(message([&] { reshape(f32({2, 3}), {4}); }),
            "reshape: f32[2,3] to f32[4]: 6 and 4 elements");
  EXPECT_EQ(message([&] { transpose(f32({2, 3}), {0}); }),
            "transpose: permutation [0] of f32[2,3]");
  EXPECT_EQ(message([&] { transpose(f32({2, 3}), {1, 1}); }),
            "transpose: axes [1,1] of f32[2,3] name one axis twice");
  EXPECT_EQ(message([&] { broadcast_in_dim(f32({2}), {3, 4}, {0}); }),
            "broadcast_in_dim: f32[2] to f32[3,4] along [0]");
  EXPECT_EQ(message([&] { broadcast_to(f32({2, 1}), {3}); }),
            "broadcast_to: f32[2,1] does not broadcast to f32[3]");
  EXPECT_EQ(message([&] { concatenate({f32({2, 3}), f32({2, 4})}, 0); }),
            "concatenate: f32[2,3] and f32[2,4] differ beside axis 0");
  EXPECT_EQ(message([&] { concatenate({f32({2}), s32({2})}, 0); }),
            "concatenate: f32[2] and i32[2] differ in element type");
  EXPECT_EQ(message([&] { concatenate({}, 0); }), "concatenate: nothing to join");
}

TEST_F(ShapeErrors, AreToldOfSlices) {
  EXPECT_EQ(message([&] { slice(f32({4}), {2}, {5}); }), "slice: f32[4] from [2] to [5] by [1]");
  EXPECT_EQ(message([&] { slice(f32({4}), {0}, {4}, {0}); }),
            "slice: f32[4] from [0] to [4] by [0]");
  EXPECT_EQ(message([&] { pad(f32({2}), 0, {-3}, {0}); }),
            "pad: f32[2] by low [-3], high [0], interior [0]");
  EXPECT_EQ(message([&] { dynamic_slice(f32({2, 3}), {s32({})}, {1, 1}); }),
            "dynamic_slice: 1 start indices for f32[2,3]");
  EXPECT_EQ(message([&] { dynamic_slice(f32({2}), {f32({})}, {1}); }),
            "dynamic_slice: start index 0 is f32[]");
  EXPECT_EQ(message([&] { dynamic_slice(f32({2}), {s32({})}, {3}); }),
            "dynamic_slice: a part of [3] does not fit in f32[2]");
  EXPECT_EQ(message([&] { dynamic_update_slice(f32({2}), f32({3}), {s32({})}); }),
            "dynamic_update_slice: a part of [3] does not fit in f32[2]");
}

TEST_F(ShapeErrors, AreToldOfMatrixProducts) {
  EXPECT_EQ(message([&] { matmul(f32({8, 128}), f32({64, 32})); }),
            "dot_general: f32[8,128] x f32[64,32]: contracted dimensions 128 and 64 differ");
  EXPECT_EQ(message([&] { matmul(f32({2, 8, 4}), f32({3, 4, 5})); }),
            "dot_general: f32[2,8,4] x f32[3,4,5]: batch dimensions 2 and 3 differ");
  EXPECT_EQ(message([&] { matmul(f32({4}), f32({4})); }),
            "matmul: f32[4] x f32[4] is no matrix product");
  EXPECT_EQ(message([&] { dot_general(f32({4, 4}), f32({4}), {{}, {}, {0, 1}, {0}}); }),
            "dot_general: f32[4,4] x f32[4]: 0 and 0 batch axes, 2 and 1 contracted axes");
  EXPECT_EQ(message([&] { dot_general(f32({4}), f32({4}), {{}, {}, {1}, {0}}); }),
            "dot_general: f32[4] has no axis 1");
}

TEST_F(ShapeErrors, AreToldOfRowsByIndex) {
  EXPECT_EQ(message([&] { gather_rows(f32({5, 2}), f32({3})); }),
            "gather_rows: table f32[5,2] with ids f32[3]");
  EXPECT_EQ(message([&] { scatter_add_rows(f32({5, 2}), s32({3}), f32({3, 3})); }),
            "scatter_add_rows: f32[3,2] and f32[3,3] differ in shape");
  EXPECT_EQ(message([&] { gather_items(f32({5, 2}), s32({3, 2})); }),
            "gather_items: items of f32[5,2] with ids i32[3,2]");
  EXPECT_EQ(message([&] { gather_rows(f32({0, 2}), s32({3})); }),
            "gather_rows: table f32[0,2] with ids i32[3]");
}

TEST_F(ShapeErrors, AreToldOfControl) {
  const auto always = [](Graph& g, auto) { return std::vector{constant(g, 1, DType::pred)}; };
  EXPECT_EQ(message([&] {
              while_loop(
                  {f32({2})}, [](Graph&, auto x) { return std::vector{x[0]}; },
                  [](Graph&, auto x) { return std::vector{x[0]}; });
            }),
            "while: the condition must give one i1[]");
  EXPECT_EQ(message([&] {
              while_loop({f32({2})}, always,
                         [](Graph&, auto x) { return std::vector{reduce_sum(x[0], {0})}; });
            }),
            "while: value 0 is f32[2] before and f32[] after the body");
  EXPECT_EQ(message([&] {
              while_loop({f32({2})}, always, [](Graph&, auto) { return std::vector<Tensor>(); });
            }),
            "while: the body gives 0 values for 1 carried");
  EXPECT_EQ(message([&] { sort({f32({2}), s32({3})}, 0, always); }),
            "sort: f32[2] and i32[3] differ in shape");
  EXPECT_EQ(message([&] { sort({f32({2})}, 0, [](Graph&, auto x) { return std::vector{x[0]}; }); }),
            "sort: the comparator must give one i1[]");
  EXPECT_EQ(message([&] { top_k(f32({2, 3}), 4); }), "top_k: 4 of f32[2,3]");
}

TEST_F(ShapeErrors, AreToldOfDevices) {
  EXPECT_EQ(message([&] { sharding_constraint(f32({2, 3}), {{"data"}}); }),
            "sharding_constraint: 1 axes for f32[2,3]");
  EXPECT_EQ(message([&] { all_reduce_sum(f32({2}), 0); }), "all_reduce_sum: 0 replicas");
  EXPECT_EQ(message([&] { all_reduce_sum(pred({2}), 2); }),
            "all_reduce_sum: i1[2] is not of numbers");
  EXPECT_EQ(message([&] { all_gather(f32({2}), 0, 0); }), "all_gather: 0 replicas");
  EXPECT_EQ(message([&] { all_gather(f32({2}), 1, 2); }), "all_gather: f32[2] has no axis 1");
  EXPECT_EQ(message([&] { all_to_all(f32({2}), 0, 0, 0); }), "all_to_all: 0 replicas");
  EXPECT_EQ(message([&] { all_to_all(f32({2, 3}), 2, 0, 2); }),
            "all_to_all: f32[2,3] has no axis 2");
  EXPECT_EQ(message([&] { all_to_all(f32({2, 3}), 1, 0, 2); }),
            "all_to_all: axis 1 of f32[2,3] does not divide over 2 replicas");
}

TEST_F(ShapeErrors, AGraphRefusesTensorsOfAnother) {
  Graph other;
  const Tensor stranger = other.argument({DType::f32, {2}});
  EXPECT_THROW(add(f32({2}), stranger), BugError);
}

// What broadcasting inserts is in the graph, and nothing is inserted where nothing is to do.
TEST_F(ShapeErrors, EqualShapesNeedNoBroadcastNodes) {
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
}  // namespace smelt
