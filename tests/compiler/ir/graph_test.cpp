#include "compiler/ir/graph.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "compiler/ir/op.h"

namespace smelt::compiler {
namespace {

const Op kBoth{.name = "both",
               .infer =
                   [](const Node& node) {
                     return std::vector<Shape>{node.inputs[0].shape(), node.inputs[1].shape()};
                   },
               .vjp = nullptr,
               .emit = nullptr,
               .examples = nullptr};

TEST(Graph, ReachableReturnsOnlyNeededNodesInputsFirst) {
  Graph graph;
  const Tensor a = graph.argument({DType::f32, {2}}), b = graph.argument({DType::s32, {}});
  const Node& used = graph.apply(kBoth, {a, b});
  graph.apply(kBoth, {a, a});
  const Node& top = graph.apply(kBoth, {Tensor(&used, 1), Tensor(&used, 0)});
  const std::array results{Tensor(&top, 0)};
  EXPECT_EQ(reachable(results), (std::vector{&a.node(), &b.node(), &used, &top}));
  EXPECT_EQ(Tensor(&top, 0).shape(), (Shape{DType::s32, {}}));
  EXPECT_EQ(Tensor(&top, 1).dims(), (Dims{2}));
}

TEST(Graph, RejectsEmptyInputsAndInputsOfAnotherGraph) {
  Graph graph, other;
  const Tensor a = graph.argument({DType::f32, {2}}), b = other.argument({DType::f32, {2}});
  EXPECT_THROW(graph.apply(kBoth, {a, Tensor()}), BugError);
  EXPECT_THROW(graph.apply(kBoth, {a, b}), BugError);
}

TEST(Graph, MoveKeepsTensorsValid) {
  Graph first;
  const Tensor a = first.argument({DType::f32, {2}});
  const Node& both = first.apply(kBoth, {a, a});
  Graph second = std::move(first);
  EXPECT_EQ(&a.graph(), &second);
  EXPECT_EQ(second.apply(kBoth, {a, Tensor(&both, 1)}).id, 2);
  Graph third;
  third.argument({DType::s32, {}});
  third = std::move(second);
  EXPECT_EQ(&a.graph(), &third);
  EXPECT_EQ(third.arguments(), std::vector{a});
  EXPECT_EQ(&third.nodes()[1], &both);
  EXPECT_EQ(third.apply(kBoth, {a, a}).id, 3);
}

TEST(Tensor, AcceptsNegativeAxesAndExpectChecksDimensions) {
  Graph graph;
  const Tensor a = graph.argument({DType::f32, {2, 3}});
  EXPECT_EQ(a.dim(-1), 3);
  EXPECT_EQ(a.dim(0), 2);
  EXPECT_THROW(a.dim(2), BugError);
  EXPECT_EQ(a.expect({2, 3}), a);
  EXPECT_THROW(a.expect({3, 2}), BugError);
}

TEST(Attrs, AreReadByNameAndType) {
  const Attrs attrs{{"axis", std::int64_t{3}},
                    {"dims", Dims{1, 2}},
                    {"axes", DimAxes{{"data"}, {}}},
                    {"dtype", DType::bf16}};
  EXPECT_EQ(attrs.integer("axis"), 3);
  EXPECT_EQ(attrs.dims("dims"), (Dims{1, 2}));
  EXPECT_EQ(attrs.axes("axes"), (DimAxes{{"data"}, {}}));
  EXPECT_EQ(attrs.dtype("dtype"), DType::bf16);
  EXPECT_THROW(attrs.integer("other"), BugError);
}

TEST(Shape, PrintsTypeAndDimensionsAndCountsElements) {
  const Shape shape{DType::u32, {8, 128}};
  EXPECT_EQ(str(shape), "ui32[8,128]");
  EXPECT_EQ(shape.elements(), 1024);
  EXPECT_EQ(shape.size_bytes(), 4096u);
  EXPECT_EQ((Shape{DType::f64, {}}).elements(), 1);
  EXPECT_EQ((Shape{DType::f64, {3, 0}}).elements(), 0);
}

}  // namespace
}  // namespace smelt::compiler
