// Masks and samples compared with their distributions, also if few tokens are maskable.
#include "model/tasks/dynamic_masking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::broadcast_to;
using compiler::constant;
using compiler::DType;
using compiler::Graph;
using compiler::Program;
using compiler::Shape;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

constexpr std::int32_t kPad = 0, kCls = 1, kSep = 2, kMask = 3, kWord = 4;
using Rows = std::vector<std::vector<std::int32_t>>;

model::MaskingRule rule_of(double probability, std::int64_t most, model::MaskDraws draws) {
  return {.probability = probability,
          .most = most,
          .mask_id = kMask,
          .kept_ids = {kCls, kSep, kMask},
          .draws = draws};
}

Value ids_value(const Rows& rows) {
  Value value{
      .shape = {DType::s32, {std::ssize(rows), std::ssize(rows[0])}}, .real = {}, .bits = {}};
  for (const auto& row : rows)
    for (const std::int32_t id : row) value.bits.push_back(static_cast<std::uint64_t>(id));
  return value;
}

Value mask_value(const Rows& rows) {
  Value value = ids_value(rows);
  for (std::uint64_t& id : value.bits) id = id != kPad;
  return value;
}

struct Drawn {
  Rows positions, ids, shown;  // shown: the ids with [MASK]
  std::vector<std::vector<double>> weights;
};

Rows whole_rows(const Value& value) {
  Rows rows(static_cast<std::size_t>(value.shape.dims[0]));
  const std::size_t width = value.bits.size() / rows.size();
  for (std::size_t i = 0; i < value.bits.size(); ++i)
    rows[i / width].push_back(static_cast<std::int32_t>(value.bits[i]));
  return rows;
}

// Draws masks for rows `first_row`, … of a batch.
Drawn draw(const model::MaskingRule& rule, const Rows& rows, std::uint32_t first_row = 0,
           std::uint64_t seed = 5, int step = 0, bool training = true) {
  Program p;
  const std::vector<Value> arguments{ids_value(rows), mask_value(rows),
                                     integer_value({DType::s32, {}}, {first_row})};
  const Tensor ids = p.graph.argument(arguments[0].shape), mask = p.graph.argument(ids.shape());
  model::Parameters parameters;
  const Tensor first = p.graph.argument({DType::s32, {}});
  const model::Scope root(
      p.graph, parameters,
      model::RandomSource{
          .seed = seed, .step = full_like(first, step), .first_row = first, .training = training});
  const model::Masks masks = model::draw_masks(root, rule, ids, mask);
  p.results = {masks.positions, masks.ids, model::put_masks(root, rule, ids, masks), masks.weights};
  const auto got = run_on_cpu(p, arguments);
  Drawn out{.positions = whole_rows(got[0]),
            .ids = whole_rows(got[1]),
            .shown = whole_rows(got[2]),
            .weights = {}};
  const auto N = static_cast<std::size_t>(rule.most);
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.weights.emplace_back(got[3].real.begin() + static_cast<std::ptrdiff_t>(i * N),
                             got[3].real.begin() + static_cast<std::ptrdiff_t>((i + 1) * N));
  return out;
}

// Returns the number of masks of a row, after checking them.
int check_row(const Rows& rows, const Drawn& drawn, std::size_t row, model::MaskDraws draws) {
  std::set<std::int32_t> places;
  int count = 0;
  for (std::size_t n = 0; n < drawn.positions[row].size(); ++n) {
    const std::int32_t at = drawn.positions[row][n];
    if (drawn.weights[row][n] == 0) {
      EXPECT_EQ(at, 0);
      EXPECT_EQ(drawn.ids[row][n], 0);
      continue;
    }
    EXPECT_EQ(count++, static_cast<int>(n)) << "a gap before it";
    const std::int32_t id = rows[row][static_cast<std::size_t>(at)];
    EXPECT_GE(id, kWord) << "at " << at;
    EXPECT_EQ(drawn.ids[row][n], id);
    places.insert(at);
  }
  if (draws == model::MaskDraws::distinct) {
    EXPECT_EQ(places.size(), static_cast<std::size_t>(count));
  }
  for (std::size_t at = 0; at < rows[row].size(); ++at) {
    const std::int32_t shown = drawn.shown[row][at];
    const bool may = places.contains(static_cast<std::int32_t>(at));
    EXPECT_TRUE(shown == rows[row][at] || (may && shown == kMask)) << "at " << at;
  }
  return count;
}

class Masking : public ::testing::TestWithParam<model::MaskDraws> {};

std::vector<std::int32_t> sentence(std::int64_t tokens, std::int64_t S) {
  std::vector<std::int32_t> row(static_cast<std::size_t>(S), kPad);
  for (std::int64_t i = 0; i < tokens; ++i)
    row[static_cast<std::size_t>(i)] = i == 0 ? kCls : i == tokens - 1 ? kSep : kWord + 7;
  return row;
}

TEST_P(Masking, CountsMatchTheOriginal) {
  REQUIRE_PLUGIN("cpu");
  const model::MaskingRule rule = rule_of(0.25, 4, GetParam());
  Rows rows;
  for (const std::int64_t tokens : {3, 4, 10, 14, 16, 20}) rows.push_back(sentence(tokens, 20));
  const Drawn drawn = draw(rule, rows);
  std::vector<int> counts;
  for (std::size_t i = 0; i < rows.size(); ++i)
    counts.push_back(check_row(rows, drawn, i, GetParam()));
  // 0.75 and 1; 2.5 and 3.5 round to even; 4; 5 exceeds the maximum of 4.
  EXPECT_EQ(counts, (std::vector{1, 1, 2, 4, 4, 4}));
}

TEST_P(Masking, ShareChangesLinearlyToTheLastStep) {
  const model::MaskingRule rule{.probability = 0.4,
                                .last_probability = 0.2,
                                .steps = 10,
                                .most = 16,
                                .mask_id = kMask,
                                .kept_ids = {kCls, kSep, kMask},
                                .draws = GetParam()};
  const Rows rows{sentence(40, 48), sentence(20, 48)};
  const auto masks_at = [&](int step, bool training) {
    std::vector<int> counts;
    const Drawn drawn = draw(rule, rows, 0, 5, step, training);
    for (const auto& weights : drawn.weights)
      counts.push_back(static_cast<int>(std::ranges::count(weights, 1)));
    return counts;
  };
  EXPECT_EQ(masks_at(0, true), (std::vector{16, 8}));
  EXPECT_EQ(masks_at(5, true), (std::vector{12, 6}));
  EXPECT_EQ(masks_at(10, true), (std::vector{8, 4}));
  EXPECT_EQ(masks_at(30, true), (std::vector{8, 4})) << "after the last step";
  EXPECT_EQ(masks_at(0, false), (std::vector{8, 4})) << "an evaluation";
}

TEST_P(Masking, MasksNothingIfNothingIsMaskable) {
  REQUIRE_PLUGIN("cpu");
  const Rows rows{{kCls, kSep, kPad, kPad, kPad, kPad},
                  {kCls, kMask, kMask, kSep, kPad, kPad},
                  {kPad, kPad, kPad, kPad, kPad, kPad},
                  {kCls, kMask, kWord, kMask, kSep, kPad},
                  {kWord, kWord, kSep, kPad, kPad, kPad}};
  const Drawn drawn = draw(rule_of(0.9, 5, GetParam()), rows);
  for (const std::size_t row : {0, 1, 2}) {
    EXPECT_EQ(check_row(rows, drawn, row, GetParam()), 0) << row;
    EXPECT_EQ(drawn.shown[row], rows[row]);
  }
  // Only one token is maskable; the original draws it several times.
  const int all = GetParam() == model::MaskDraws::distinct ? 1 : 4;
  EXPECT_EQ(check_row(rows, drawn, 3, GetParam()), all);
  EXPECT_EQ(drawn.positions[3][0], 2);
  check_row(rows, drawn, 4, GetParam());  // position 0 is unused
  EXPECT_EQ(drawn.positions[4][0], 1);
}

TEST_P(Masking, CanMaskAllTokens) {
  REQUIRE_PLUGIN("cpu");
  const Rows rows{sentence(12, 12)};
  const Drawn drawn = draw(rule_of(0.9, 11, GetParam()), rows);
  const std::set<std::int32_t> places(drawn.positions[0].begin(), drawn.positions[0].end());
  if (GetParam() == model::MaskDraws::distinct) {
    EXPECT_EQ(check_row(rows, drawn, 0, GetParam()), 10);
    EXPECT_EQ(places.size(), 11u);  // the ten words, and position 0
  } else {
    EXPECT_EQ(check_row(rows, drawn, 0, GetParam()), 11);
    EXPECT_LT(places.size(), 11u);
  }
}

TEST_P(Masking, MasksDependOnTheRowInTheWholeBatch) {
  REQUIRE_PLUGIN("cpu");
  const Rows rows(8, sentence(18, 20));
  const model::MaskingRule rule = rule_of(0.25, 5, GetParam());
  const Drawn all = draw(rule, rows), second = draw(rule, Rows(rows.begin() + 4, rows.end()), 4);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(second.positions[i], all.positions[i + 4]);
    EXPECT_EQ(second.shown[i], all.shown[i + 4]);
  }
  EXPECT_NE(all.positions[0], all.positions[1]);
  EXPECT_NE(draw(rule, rows, 0, 6).positions, all.positions);
}

double chi_square(const std::map<std::vector<std::int32_t>, int>& counts, double expected,
                  std::size_t cells) {
  double sum = 0;
  for (const auto& [cell, count] : counts)
    sum += (count - expected) * (count - expected) / expected;
  return sum + static_cast<double>(cells - counts.size()) * expected;
}

// Two of nine words: all pairs are equally likely. 0.1 % of correct programs exceed the limits.
TEST_P(Masking, PicksAllPairsWithEqualProbability) {
  REQUIRE_PLUGIN("cpu");
  constexpr int kRows = 6000;
  const Drawn drawn = draw(rule_of(0.17, 2, GetParam()), Rows(kRows, sentence(11, 14)));
  std::map<std::vector<std::int32_t>, int> counts;
  for (std::vector<std::int32_t> pair : drawn.positions) {
    if (GetParam() == model::MaskDraws::distinct) std::ranges::sort(pair);
    ++counts[pair];
  }
  const bool distinct = GetParam() == model::MaskDraws::distinct;
  const std::size_t cells = distinct ? 36 : 81;
  const double limit = distinct ? 66.6 : 124.8;  // chi-square with 35 and 80 degrees of freedom
  EXPECT_LE(counts.size(), cells);
  EXPECT_LT(chi_square(counts, kRows / static_cast<double>(cells), cells), limit);
}

TEST_P(Masking, PutsTheMaskTokenAt85Percent) {
  REQUIRE_PLUGIN("cpu");
  const Rows rows(4000, sentence(11, 14));
  const Drawn drawn = draw(rule_of(0.1, 1, GetParam()), rows);
  int masked = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(drawn.weights[i][0], 1);
    masked += drawn.shown[i] != rows[i];
  }
  const double deviation = std::sqrt(4000 * 0.85 * 0.15);
  EXPECT_NEAR(masked, 4000 * 0.85, 3.5 * deviation);
}

INSTANTIATE_TEST_SUITE_P(Draws, Masking,
                         ::testing::Values(model::MaskDraws::distinct, model::MaskDraws::original),
                         [](const auto& info) {
                           return info.param == model::MaskDraws::distinct ? "Distinct"
                                                                           : "Original";
                         });

TEST(Samples, AreDrawnByTheirProbabilities) {
  REQUIRE_PLUGIN("cpu");
  constexpr std::int64_t kRows = 3000, kSlots = 2, kWords = 7;
  const std::vector<double> logits{0, 1, -1, 2, 0.5, -30, 1.5};
  Program p;
  model::Parameters parameters;
  const Tensor step = p.graph.argument({DType::s32, {}});
  const model::Scope root(p.graph, parameters, model::RandomSource{.seed = 11, .step = step});
  const Tensor row = constant(p.graph, logits, {DType::f32, {1, 1, kWords}});
  p.results = {model::sample_ids(root, broadcast_to(row, {kRows, kSlots, kWords}))};
  const Rows drawn = whole_rows(run_on_cpu(p, {integer_value({DType::s32, {}}, {3})}).front());
  double sum = 0, chi = 0;
  for (const double logit : logits) sum += std::exp(logit);
  std::vector<int> counts(kWords);
  int same = 0;
  for (const auto& pair : drawn) {
    for (const std::int32_t id : pair) ++counts[static_cast<std::size_t>(id)];
    same += pair[0] == pair[1];
  }
  double meet = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double share = std::exp(logits[i]) / sum, expected = kRows * kSlots * share;
    meet += share * share;
    if (i != 5) chi += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_EQ(counts[5], 0);
  EXPECT_LT(chi, 20.5);  // 0.1 % quantile of chi-square with 5 degrees of freedom
  EXPECT_NEAR(same, kRows * meet, 3.5 * std::sqrt(kRows * meet * (1 - meet)));
}

// The original's scatter_update: sums divided by hits, rounded down to integers.
TEST(ReplaceTokens, UsesTheMeanForEqualPositions) {
  Graph graph;
  const Shape row{DType::s32, {2, 6}}, slots{DType::s32, {2, 4}};
  const Tensor ids = graph.argument(row), positions = graph.argument(slots),
               tokens = graph.argument(slots);
  const model::Replaced replaced = model::replace_tokens(ids, positions, tokens);
  const auto got = interpret(graph, {replaced.ids, replaced.where},
                             {integer_value(row, {9, 8, 7, 6, 5, 4, 9, 8, 7, 6, 5, 4}),
                              integer_value(slots, {3, 3, 0, 5, 1, 1, 1, 0}),
                              integer_value(slots, {5, 8, 99, 7, 10, 10, 12, 0})});
  EXPECT_EQ(whole_rows(got[0]), (Rows{{9, 8, 7, 6, 5, 7}, {9, 10, 7, 6, 5, 4}}));
  EXPECT_EQ(whole_rows(got[1]), (Rows{{0, 0, 0, 1, 0, 1}, {0, 1, 0, 0, 0, 0}}));
}

}  // namespace
}  // namespace smelt::testing
