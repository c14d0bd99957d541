// Compares the cost model (estimate.h) with published runs, which bench/published_runs.py stores in
// tests/golden/published_runs.json. The factors are fitted on one half and tested on the other.
// SMELT_UPDATE_GOLDEN=1 updates the table in docs/explanation/cost-model.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/json.h"
#include "base/number_format.h"
#include "base/str.h"
#include "cost_model/estimate.h"
#include "io/filesystem/file.h"
#include "support/paths.h"
#include "support/sha256.h"

namespace smelt::cost_model {
namespace {

using testing::HasSubstr;

struct PublishedRun {
  std::string name, source, on, sequences;
  bool measured = false;  // by a log of steps; otherwise from the reported hours or days of the run
  double reported = 0;    // seconds of a step
  StepWork work;
  bool fitted = false;  // belongs to the half that the factors are fitted on

  // Whether the work of its step has not been computed yet.
  bool is_open() const { return work.work == 0; }
  Accelerator type() const { return find_accelerators("on", on).front(); }
  Estimate planned() const {
    Estimate out = *step_seconds(work, usual_factor(type()));
    if (!measured) out.high = std::max(out.high, longest_run(type()) * out.likely);
    return out;
  }
  bool is_inside() const {
    const Estimate range = planned();
    return range.low <= reported && reported <= range.high;
  }
  // Returns the measured step time divided by the modeled time.
  double factor() const { return (reported - work.exposed) / work.work; }
};

void split_in_halves(std::vector<PublishedRun>& runs, bool gpus) {
  std::vector<std::pair<std::string, PublishedRun*>> order;
  for (PublishedRun& run : runs)
    if (run.type().is_gpu() == gpus) order.emplace_back(sha256(run.name), &run);
  std::ranges::sort(order);
  for (std::size_t i = 0; i < (order.size() + 1) / 2; ++i) order[i].second->fitted = true;
}

std::vector<PublishedRun> published_runs() {
  const Json file = Json::parse(io::read_file(source_path("tests/golden/published_runs.json")));
  std::vector<PublishedRun> out;
  for (const Json& run : file.at("runs")) {
    const auto number = [&](const char* name) { return run.value(name, 0.0); };
    out.push_back({.name = run.at("name"),
                   .source = run.at("source"),
                   .on = run.at("on"),
                   .sequences = run.at("sequences"),
                   .measured = run.at("measured"),
                   .reported = number("reported"),
                   .work = {number("work"), number("told"), number("behind")}});
  }
  for (const bool gpus : {false, true}) split_in_halves(out, gpus);
  return out;
}

// Returns the median of the factors as `likely`, and their range widened by a tenth.
Estimate fitted_range(std::vector<double> factors) {
  std::ranges::sort(factors);
  const std::size_t n = factors.size();
  return {factors.front() / 1.1, (factors[(n - 1) / 2] + factors[n / 2]) / 2, factors.back() * 1.1};
}

void expect_rounded(const Estimate& constant, const Estimate& fitted) {
  EXPECT_NEAR(constant.low, fitted.low, 0.0051);
  EXPECT_NEAR(constant.likely, fitted.likely, 0.0051);
  EXPECT_NEAR(constant.high, fitted.high, 0.0051);
}

TEST(PublishedRuns, CostFactorsMatchAFitToHalfOfTheRuns) {
  std::vector<double> v4, others, gpus, whole;
  for (const PublishedRun& run : published_runs()) {
    if (!run.fitted || run.is_open()) continue;
    const Accelerator type = run.type();
    if (!run.measured)
      whole.push_back(run.reported / run.planned().likely);
    else
      (type.is_gpu() ? gpus : type.generation == "v4" ? v4 : others).push_back(run.factor());
  }
  expect_rounded(kV4Factor, fitted_range(v4));
  expect_rounded(kGpuFactor, fitted_range(gpus));
  EXPECT_NEAR(kLongestRun, 1.1 * std::ranges::max(whole), 0.051);
  ASSERT_EQ(others.size(), 1u)
      << "a single run gives no range, so it is assumed (docs/explanation/cost-model.md)";
  EXPECT_NEAR(kTpuFactor.likely, others.front(), 0.0051);
}

TEST(PublishedRuns, EstimatedRangesContainTheRunsNotFitted) {
  std::set<std::string> outside;
  int steps = 0, whole = 0, gpus = 0;
  for (const PublishedRun& run : published_runs()) {
    if (run.fitted || run.is_open()) continue;
    ++(run.type().is_gpu() ? gpus : run.measured ? steps : whole);
    if (!run.is_inside()) outside.insert(run.name);
  }
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(whole, 6);
  EXPECT_EQ(gpus, 6);
  EXPECT_THAT(outside, testing::ElementsAre("ELECTRA-base, 512, AMP, A100 80 GB"));
}

std::string milliseconds(double seconds) { return rounded(1e3 * seconds, 0); }

std::string line_of(const PublishedRun& run) {
  const std::string begin = str("| ", run.name, " | ", run.on, " | ", run.sequences, " | ",
                                run.measured ? "a step" : "the run", " | ",
                                milliseconds(run.reported), " | "),
                    end = str(" | ", run.fitted ? "sets" : "checks", " | "),
                    source = str(" | ", run.source, " |\n");
  if (run.is_open()) return str(begin, "? | ? | ?", end, "?", source);
  const Estimate range = run.planned();
  return str(begin, milliseconds(run.work.work), " | ", rounded(run.factor(), 2), " | ",
             milliseconds(range.low), " - ", milliseconds(range.likely), " - ",
             milliseconds(range.high), end, run.is_inside() ? "yes" : "**no**", source);
}

TEST(PublishedRuns, TableInTheDocsIsUpToDate) {
  constexpr std::string_view kHead =
      "| run | on | sequences per step | reported for | ms per step | work, ms | factor | "
      "estimate, ms | half | in range | source |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  std::string table(kHead);
  for (const PublishedRun& run : published_runs()) table += line_of(run);
  const std::string path = source_path("docs/explanation/cost-model.md");
  std::string text = io::read_file(path);
  if (std::getenv("SMELT_UPDATE_GOLDEN") != nullptr) {
    const std::size_t begin = text.find(kHead.substr(0, kHead.find('\n')));
    ASSERT_NE(begin, text.npos);
    text.replace(begin, text.find("\n\n", begin) + 1 - begin, table);
    io::write_file(path, text);
  }
  EXPECT_THAT(text, HasSubstr("\n" + table + "\n"));
}

}  // namespace
}  // namespace smelt::cost_model
