// Random bits in the graph match a reference implementation on every platform, and each part of a
// batch gets the bits of the whole. Their quality is tested on the reference
// (random_quality_test.cpp).
#include "model/nn/random.h"

#include <gtest/gtest.h>

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/nn/random_twin.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::concatenate;
using compiler::constant;
using compiler::Dims;
using compiler::dims_text;
using compiler::DType;
using compiler::ones_like;
using compiler::Program;
using compiler::Shape;
using compiler::Tensor;
namespace {

struct Case {
  Dims dims;
  Drawer drawer = {};
  std::uint32_t first_row = 0, row_stride = 1;
  bool takes_keys = false;  // pass keys as an argument instead of a seed
};

std::vector<Case> cases() {
  return {{.dims = {11}},
          {.dims = {3, 5}, .drawer = {.step = 7}},
          {.dims = {4, 3, 2, 5}, .drawer = {.seed = 1ull << 40, .step = 123456, .layer = 3}},
          {.dims = {3, 4, 6}, .drawer = {.stream = 5}, .first_row = 9},
          {.dims = {6, 7}, .drawer = {.layer = 23, .stream = 2}, .first_row = 2, .row_stride = 4},
          {.dims = {5, 3}, .first_row = 0x7FFFFFFE, .row_stride = 3}};
}

std::uint32_t twin(const Case& c, std::int64_t at) {
  std::int64_t width = 1;
  for (std::size_t axis = 1; axis < c.dims.size(); ++axis) width *= c.dims[axis];
  const auto row = static_cast<std::uint32_t>(at / width);
  const auto element = static_cast<std::uint32_t>(at % width),
             last = c.dims.size() < 2 ? 0 : element % static_cast<std::uint32_t>(c.dims.back());
  const HashBits bits(c.drawer);
  const std::uint32_t whole_row = row * c.row_stride + c.first_row;
  if (c.dims.size() < 2) return bits.of_row(whole_row);
  return c.dims.size() == 2 ? bits.at(whole_row, element)
                            : bits.at(whole_row, last, element - last);
}

// A program that returns `draw(scope)`, and its arguments.
struct Drawn {
  template <class Draw>
  Drawn(const Case& c, const Draw& draw, const model::ComputePolicy& compute = {}) {
    const auto number = [&](std::uint32_t value) {
      arguments.push_back(integer_value({DType::s32, {}}, {value}));
      return program.graph.argument({DType::s32, {}});
    };
    model::RandomSource source{.seed = c.drawer.seed, .step = number(c.drawer.step)};
    source.row_stride = c.row_stride;
    if (c.drawer.stream > 0) source.stream = number(c.drawer.stream);
    if (c.first_row > 0) source.first_row = number(c.first_row);
    if (c.takes_keys) source.keys = keys_argument();
    const std::size_t keys_at = arguments.size() - 1;
    model::Parameters parameters;
    const model::Scope root(program.graph, parameters, source, compute);
    if (c.drawer.layer > 0)
      program.results = {draw(root.layer(c.drawer.place, c.drawer.layer))};
    else
      program.results = {draw(root / c.drawer.place)};
    if (!c.takes_keys) return;
    const std::vector<std::uint32_t> words = source.keys->of_seed(c.drawer.seed);
    arguments[keys_at].bits = {words.begin(), words.end()};
  }
  std::shared_ptr<model::SeedKeys> keys_argument() {
    const Shape shape{DType::u32, {2 * model::SeedKeys::kMostPlaces}};
    arguments.push_back(integer_value(shape, {}));
    return std::make_shared<model::SeedKeys>(
        model::SeedKeys{.words = program.graph.argument(shape), .places = {}});
  }
  Value by_interpreter() const {
    return interpret(program.graph, program.results, arguments).front();
  }

  Program program;
  std::vector<Value> arguments;
};

Drawn bits_of(const Case& c) {
  return {c, [&](const model::Scope& s) { return model::random_bits(s, c.dims); }};
}

// Returns the case with the name that a place has within a stack of layers.
Case named(Case c) {
  if (c.drawer.layer > 0) c.drawer.place += "_*";
  return c;
}

void expect_twins_bits(const Case& c, const Value& got) {
  ASSERT_EQ(got.shape, (Shape{DType::u32, c.dims}));
  for (std::int64_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got.bits[static_cast<std::size_t>(i)], twin(named(c), i))
        << dims_text(c.dims) << " at " << i;
}

TEST(RandomBits, MatchTheReferenceImplementation) {
  for (const Case& c : cases()) expect_twins_bits(c, bits_of(c).by_interpreter());
}

TEST(RandomBits, MatchTheReferenceOnTheCpu) {
  REQUIRE_PLUGIN("cpu");
  for (const Case& c : cases()) {
    const Drawn drawn = bits_of(c);
    expect_twins_bits(c, run_on_cpu(drawn.program, drawn.arguments)[0]);
  }
}

TEST(RandomBits, DoNotChangeIfKeysAreAnArgument) {
  for (Case c : cases()) {
    c.takes_keys = true;
    expect_twins_bits(c, bits_of(c).by_interpreter());
  }
}

TEST(RandomBits, DifferBetweenScopes) {
  const Case c{.dims = {11}, .takes_keys = true};
  const Drawn both(c, [&](const model::Scope& s) {
    return concatenate({model::random_bits(s, c.dims), model::random_bits(s / "other", c.dims)}, 0);
  });
  const Value got = both.by_interpreter();
  Case other = c;
  other.drawer.place += "/other";
  for (std::int64_t i = 0; i < 11; ++i) {
    EXPECT_EQ(got.bits[static_cast<std::size_t>(i)], twin(c, i)) << i;
    EXPECT_EQ(got.bits[static_cast<std::size_t>(i + 11)], twin(other, i)) << i;
  }
}

TEST(RandomBits, DependOnTheRowInTheWholeBatch) {
  const Case whole{.dims = {12, 3, 5}};
  const auto bits = bits_of(whole).by_interpreter().bits;
  const auto row = [&](const std::vector<std::uint64_t>& of, std::int64_t r) {
    return std::vector(of.begin() + 15 * r, of.begin() + 15 * (r + 1));
  };
  for (std::uint32_t part = 0; part < 4; ++part) {
    const auto block = bits_of({.dims = {3, 3, 5}, .first_row = 3 * part}).by_interpreter().bits;
    const auto strided =
        bits_of({.dims = {3, 3, 5}, .first_row = part, .row_stride = 4}).by_interpreter().bits;
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(row(block, i), row(bits, 3 * part + i)) << part;
      EXPECT_EQ(row(strided, i), row(bits, part + 4 * i)) << part;
    }
  }
}

// With 2^22 elements per row, 1024 rows are 2^32 numbers: a 32-bit counter would start again.
TEST(RandomBits, DoNotRepeatInTensorsOfMoreThan2To32Elements) {
  const HashBits bits{Drawer{}};
  for (std::uint32_t row = 0; row < 4096; ++row)
    ASSERT_NE(bits.row_key(row), bits.row_key(row + 1024)) << row;
  int equal = 0;
  for (std::uint32_t i = 0; i < 1 << 22; ++i) equal += bits.at(0, i) == bits.at(1024, i);
  EXPECT_LE(equal, 1);  // probability by chance: 0.001
}

TEST(RandomKeep, MatchesTheReferenceImplementation) {
  const Case c{.dims = {8, 64}, .drawer = {.step = 5}};
  for (const double rate : {0.1, 0.5, 0.999}) {
    const Drawn drawn(c,
                      [&](const model::Scope& s) { return model::random_keep(s, c.dims, rate); });
    const Value got = drawn.by_interpreter();
    ASSERT_EQ(got.shape, (Shape{DType::pred, c.dims}));
    for (std::uint32_t i = 0; i < 512; ++i)
      EXPECT_EQ(got.bits[i] != 0, HashBits(c.drawer).keeps(i / 64, i % 64, rate)) << i;
    REQUIRE_PLUGIN("cpu");
    EXPECT_EQ(run_on_cpu(drawn.program, drawn.arguments)[0].bits, got.bits);
  }
}

TEST(Uniform, IsTheUpper24BitsAsAFraction) {
  const Case c{.dims = {4, 64}};
  const Drawn drawn(c, [&](const model::Scope& s) { return model::uniform(s, c.dims); });
  const Value got = drawn.by_interpreter();
  ASSERT_EQ(got.shape, (Shape{DType::f32, c.dims}));
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const double value = got.real[static_cast<std::size_t>(i)];
    EXPECT_EQ(value, (twin(c, i) >> 8) * 0x1p-24);
    EXPECT_LT(value, 1);
  }
  REQUIRE_PLUGIN("cpu");
  EXPECT_EQ(run_on_cpu(drawn.program, drawn.arguments)[0].real, got.real);
}

// Six layers that each record, as a binary digit, which elements dropout keeps.
std::vector<double> kept_by_layers(const model::ComputePolicy& compute, bool takes_keys = false) {
  const Shape shape{compute.dtype, {8, 16}};
  const Drawn drawn(
      {.dims = shape.dims, .drawer = {.step = 3}, .takes_keys = takes_keys},
      [&](const model::Scope& s) {
        const Tensor start = constant(s.graph(), 0, shape.dtype, shape.dims);
        const auto layer = [&](const model::Scope& layer, Tensor x) {
          const Tensor kept = model::dropout(layer / "dropout", ones_like(x), 0.5);
          return 2.0 * x + 0.5 * kept;
        };
        return model::layer_stack(s, "layer", 6, start, layer);
      },
      compute);
  return drawn.by_interpreter().real;
}

TEST(RandomBits, DoNotDependOnScanAndDtypes) {
  const auto want = kept_by_layers({});
  EXPECT_EQ(want.size(), 128u);
  for (const model::Layers layers : {model::Layers::unrolled, model::Layers::scan})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const bool takes_keys : {false, true})
        EXPECT_EQ(kept_by_layers({.dtype = dtype, .layers = layers}, takes_keys), want);
  for (const int digit : {1, 2, 4, 8, 16, 32}) {  // each layer has different bits
    std::vector<bool> own, others;
    for (const double x : want) {
      own.push_back(static_cast<int>(x) & digit);
      others.push_back(static_cast<int>(x) & (digit == 1 ? 2 : digit / 2));
    }
    EXPECT_NE(own, others) << digit;
  }
}

}  // namespace
}  // namespace smelt::testing
