// The collectives on four replicas that hold different values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ops/ops.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::all_gather;
using compiler::all_reduce_sum;
using compiler::all_to_all;
using compiler::Dims;
using compiler::DType;
using compiler::Program;
using compiler::Shape;
using compiler::Tensor;
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

// Replica r holds the values 10 r, 10 r + 1, … in this shape.
std::vector<std::vector<Value>> four_replicas(const Shape& shape) {
  std::vector<std::vector<Value>> arguments;
  for (int replica = 0; replica < 4; ++replica) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      values.push_back(10.0 * replica + static_cast<double>(i));
    arguments.push_back({real_value(shape, values)});
  }
  return arguments;
}

class FourReplicas : public ::testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("cpu"); }

  Tensor argument(Dims dims) { return program.graph.argument({DType::f32, std::move(dims)}); }

  // Returns the results of each replica.
  std::vector<Value> run(Tensor result) {
    program.results = {result};
    std::vector<Value> values;
    for (const auto& results :
         run_on_replicas(program, four_replicas(program.graph.arguments()[0].shape())))
      values.push_back(results.at(0));
    return values;
  }

  Program program;
};

TEST_F(FourReplicas, AllReduceReturnsTheSumEverywhere) {
  for (const Value& got : run(all_reduce_sum(argument({2}), 4)))
    EXPECT_THAT(got.real, ElementsAre(60, 64));
}

TEST_F(FourReplicas, AllGatherConcatenatesRowsInReplicaOrder) {
  for (const Value& got : run(all_gather(argument({1, 2}), 0, 4))) {
    EXPECT_EQ(got.shape, (Shape{DType::f32, {4, 2}}));
    EXPECT_THAT(got.real, ElementsAre(0, 1, 10, 11, 20, 21, 30, 31));
  }
}

TEST_F(FourReplicas, AllGatherWorksAlongTheLastAxis) {
  for (const Value& got : run(all_gather(argument({2, 1}), -1, 4))) {
    EXPECT_EQ(got.shape, (Shape{DType::f32, {2, 4}}));
    EXPECT_THAT(got.real, ElementsAre(0, 10, 20, 30, 1, 11, 21, 31));
  }
}

TEST_F(FourReplicas, AllToAllSendsEachReplicaItsSlices) {
  const auto got = run(all_to_all(argument({4, 2}), 0, 1, 4));
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(got[r].shape, (Shape{DType::f32, {1, 8}}));
    std::vector<double> want;
    for (int from = 0; from < 4; ++from)
      for (int i = 0; i < 2; ++i) want.push_back(10 * from + 2 * r + i);
    EXPECT_THAT(got[r].real, ElementsAreArray(want)) << "replica " << r;
  }
}

TEST_F(FourReplicas, AllToAllWorksWithEqualAxes) {
  const auto got = run(all_to_all(argument({4}), 0, 0, 4));
  for (int r = 0; r < 4; ++r)
    EXPECT_THAT(got[r].real, ElementsAre(r, 10 + r, 20 + r, 30 + r)) << "replica " << r;
}

// The interpreter models one replica; it applies if all replicas hold the same values.
TEST_F(FourReplicas, CollectivesOfEqualValuesMatchTheInterpreter) {
  const Tensor x = argument({4, 3});
  program.results = {all_gather(x, 1, 4), all_to_all(x, 0, 1, 4), all_to_all(x, 0, 0, 4)};
  const std::vector<Value> one{random_value({x.shape(), -2, 2}, 7)};
  const auto got = run_on_replicas(program, {one, one, one, one}).at(0);
  const auto want = interpret(program.graph, program.results, one);
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].shape, want[i].shape);
    EXPECT_EQ(got[i].real, want[i].real) << "result " << i;
  }
}

}  // namespace
}  // namespace smelt::testing
