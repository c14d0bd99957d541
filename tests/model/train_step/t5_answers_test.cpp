// Text generation with T5: greedy and beam search compared with transformers
// (tools/golden_t5_answers.py), samples with their distribution, independent of batch and devices.
#include "model/tasks/t5_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "compiler/stablehlo/writer.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/model_state.h"
#include "io/filesystem/file.h"
#include "runs/golden_t5.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::emit_module;
namespace {

using testing::HasSubstr;

constexpr std::int64_t kWords = 53;

// Ids [rows A,T] and scores [rows A].
struct Outputs {
  std::vector<std::int32_t> ids;
  std::vector<float> scores;
};

class GoldenAnswers {
 public:
  explicit GoldenAnswers(const std::string& kind)
      : kind_(kind),
        golden_(kind),
        file_(io::read_file(source_path("tests/golden/t5_answers.safetensors")), "t5_answers"),
        facts_(Json::parse(io::read_file(source_path("tests/golden/t5_answers.json")))) {
    const char* table = kind == "small" ? "shared/embedding" : "decoder/logits/kernel";
    state_ = golden_.state();
    state_[table] = file_.at(kind + "/words");
  }

  std::int64_t inputs_length() const { return file_.at("inputs").shape.dims[1]; }
  std::vector<std::int32_t> inputs() const {
    return io::tensor_values<std::int32_t>(file_.at("inputs"));
  }
  Search search(const std::string& name) const {
    const Json& s = facts_["searches"][name];
    const std::map<std::string, EarlyStop> stops{
        {"no", EarlyStop::no}, {"yes", EarlyStop::yes}, {"never", EarlyStop::never}};
    Search out;
    out.most_tokens = facts_["tokens"];
    out.least_tokens = s.value("least_tokens", 0);
    out.beams = s.value("beams", 1);
    out.length_penalty = s.value("length_penalty", 1.0);
    out.early_stop = stops.at(s.value("early_stop", "no"));
    out.answers = s.value("answers", 1);
    return out;
  }
  const Json& searches() const { return facts_["searches"]; }
  std::vector<std::int32_t> ids(const std::string& name) const {
    return io::tensor_values<std::int32_t>(file_.at(str(kind_, "/", name, "/ids")));
  }
  std::vector<float> scores(const std::string& name) const {
    return io::tensor_values<float>(file_.at(str(kind_, "/", name, "/scores")));
  }

  // Generates for rows [first, first + count) of the inputs; if `same`, repeats one row.
  Outputs generate(const std::shared_ptr<const pjrt::Client>& client, const Search& search,
                   std::int64_t first, std::int64_t count, const ShardingPlan& placement = {},
                   bool same = false, std::int64_t seed = 7) const {
    const std::int64_t S = inputs_length();
    const StepProgram program = predict_program(
        t5_answers(golden_.settings().model, S, search, kWords), count, {}, placement);
    data::Batch batch = data::empty_batch(program.features, count);
    const auto all = inputs();
    for (std::int64_t row = 0; row < count; ++row)
      std::copy_n(all.begin() + (same ? first : first + row) * S, S,
                  batch.arrays[0].values<std::int32_t>().begin() + row * S);
    if (search.sample)
      for (std::int64_t row = 0; row < count; ++row) {
        batch.arrays[1].values<std::int32_t>()[static_cast<std::size_t>(row)] =
            static_cast<std::int32_t>(first + row);
        batch.arrays[2].values<std::int32_t>()[static_cast<std::size_t>(row)] =
            static_cast<std::int32_t>(seed);
      }
    const execution::CompiledStep step(client, program);
    const execution::ModelState state =
        execution::ModelState::restore(*client, program.placement, program.state, state_, "golden");
    const pjrt::Execution execution = step.run(batch, state);
    return {execution.results[0][0].to_host<std::int32_t>(),
            execution.results[0][1].to_host<float>()};
  }

 private:
  std::string kind_;
  GoldenT5 golden_;
  io::SafetensorsFile file_;
  Json facts_;
  io::TensorMap state_;
};

class T5Answers : public testing::TestWithParam<const char*> {};

TEST_P(T5Answers, GreedyAndBeamSearchMatchTransformers) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenAnswers golden(GetParam());
  for (const auto& [name, settings] : golden.searches().items()) {
    SCOPED_TRACE(name);
    const Outputs got = golden.generate(client, golden.search(name), 0, 200);
    EXPECT_EQ(got.ids, golden.ids(name));
    if (golden.search(name).beams == 1) continue;
    const auto want = golden.scores(name);
    ASSERT_EQ(got.scores.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got.scores[i], want[i], 1e-4 * std::abs(want[i])) << i;
  }
}

// With a length penalty above 1 a later end may still score best, so the end of a row must not
// depend on other rows.
TEST_P(T5Answers, BeamSearchDoesNotDependOnTheBatch) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenAnswers golden(GetParam());
  Search search = golden.search("beams");
  search.length_penalty = 3;
  const Outputs all = golden.generate(client, search, 0, 200);
  for (const std::int64_t first : {0, 60, 120, 196}) {
    const Outputs few = golden.generate(client, search, first, 4);
    const auto begin = all.ids.begin() + first * search.most_tokens;
    EXPECT_EQ(few.ids, std::vector(begin, begin + 4 * search.most_tokens)) << first;
  }
}

TEST_P(T5Answers, OutputsDoNotDependOnTheBatchOrTheDevices) {
  SMELT_OPEN_CPU(client, 2);
  const GoldenAnswers golden(GetParam());
  Search sampled;
  sampled.sample = true;
  sampled.answers = 2;
  sampled.most_tokens = 6;
  sampled.top_k = 20;
  sampled.top_p = 0.9;
  for (const Search& search : {golden.search("greedy"), sampled}) {
    const Outputs eight = golden.generate(client, search, 0, 8),
                  late = golden.generate(client, search, 6, 2);
    const std::size_t ids = eight.ids.size() / 4;
    EXPECT_EQ(late.ids,
              std::vector(eight.ids.end() - static_cast<std::ptrdiff_t>(ids), eight.ids.end()));
    EXPECT_EQ(golden.generate(client, search, 0, 8).ids, eight.ids);
    const ShardingPlan both = placement_for("tpu", 2, Reduction::global, partition_for({}, 2));
    EXPECT_EQ(golden.generate(client, search, 0, 8, both).ids, eight.ids);
  }
  EXPECT_NE(golden.generate(client, sampled, 0, 8).ids,
            golden.generate(client, sampled, 0, 8, {}, false, 8).ids)
      << "another seed";
}

// Heads and feed-forward layers over three devices, all parameters over two.
TEST_P(T5Answers, ShardedModelGivesTheSameOutputs) {
  SMELT_OPEN_CPU(client, 6);
  const GoldenAnswers golden(GetParam());
  PartitionRules mesh = partition_for({.mesh = "fsdp=2,tensor=3", .rules = "vocab=none"}, 6);
  mesh.names = t5_task(GoldenT5(GetParam()).settings()).dim_names;
  const ShardingPlan parts = placement_for("cpu", 6, Reduction::global, mesh);
  for (const char* name : {"greedy", "beams_never"}) {
    const Search search = golden.search(name);
    const Outputs got = golden.generate(client, search, 0, 8, parts),
                  whole = golden.generate(client, search, 0, 8);
    EXPECT_EQ(got.ids, whole.ids) << name;
    for (std::size_t i = 0; i < whole.scores.size(); ++i)
      EXPECT_NEAR(got.scores[i], whole.scores[i], 1e-4 * std::abs(whole.scores[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, T5Answers, testing::Values("small", "gated"));

// In the decoding loop only the two attention matmuls of each layer depend on the maximum output
// length; the others process one token.
TEST(T5AnswersStep, StepCostGrowsOnlyByAttention) {
  T5Config c = GoldenT5("small").settings().model;
  Search search;
  search.most_tokens = 389;  // a number that occurs in no other shape
  const StepProgram program = predict_program(t5_answers(c, 16, search, kWords), 4, {}, {});
  const std::string text = emit_module(program.program, "answers");
  const auto begin = text.find("stablehlo.while");
  ASSERT_NE(begin, text.npos);
  std::int64_t products = 0, long_ones = 0;
  for (const std::string_view line : split(std::string_view(text).substr(begin), '\n')) {
    if (line.find("stablehlo.dot_general") == line.npos) continue;
    ++products;
    if (line.find("389") != line.npos) ++long_ones;
  }
  EXPECT_EQ(long_ones, 2 * c.decoder_layers());
  EXPECT_GE(products, 10 * c.decoder_layers());
}

// The first word of 4000 samples compared with its distribution.
TEST(T5Samples, AreDrawnByTheirProbabilities) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenAnswers golden("small");
  Search search;
  search.sample = true;
  search.most_tokens = 1;
  search.answers = 40;
  search.temperature = 1.5;
  const auto counts = [&](const Search& by) {
    std::map<std::int32_t, double> out;
    for (const std::int32_t id : golden.generate(client, by, 3, 100, {}, true).ids) ++out[id];
    return out;
  };
  // log p of each word without temperature, from samples that contain all of them.
  const Outputs got = golden.generate(client, search, 3, 100, {}, true);
  std::map<std::int32_t, double> p;
  for (std::size_t i = 0; i < got.ids.size(); ++i)
    p[got.ids[i]] = std::exp(static_cast<double>(got.scores[i]) / search.temperature);
  double sum = 0, chi_square = 0;
  for (const auto& [id, share] : p) sum += share;
  const auto found = counts(search);
  std::int64_t cells = 0;
  for (const auto& [id, share] : p) {
    const double wanted = 4000 * share / sum;
    if (wanted < 10) continue;
    chi_square += std::pow(found.at(id) - wanted, 2) / wanted;
    ++cells;
  }
  EXPECT_GE(cells, 8);
  EXPECT_LT(chi_square,
            static_cast<double>(cells) + 4 * std::sqrt(2.0 * static_cast<double>(cells)));

  Search few = search;
  few.top_k = 3;
  EXPECT_EQ(counts(few).size(), 3u);
  // The smallest set of best words with half of the probability.
  std::vector<std::pair<double, std::int32_t>> best;
  for (const auto& [id, share] : p) best.emplace_back(share / sum, id);
  std::ranges::sort(best, std::greater());
  double together = 0;
  std::size_t words = 0;
  while (together < 0.5) together += best[words++].first;
  ASSERT_GT(together, 0.505) << "a bound that the missing rare words could move";
  ASSERT_LT(together - best[words - 1].first, 0.495);
  ASSERT_GE(words, 2u);
  Search half = search;
  half.top_p = 0.5;
  const auto of_half = counts(half);
  EXPECT_EQ(of_half.size(), words);
  for (std::size_t i = 0; i < words; ++i) EXPECT_TRUE(of_half.contains(best[i].second)) << i;

  Search sure = search;
  sure.top_p = 1e-6;
  EXPECT_EQ(counts(sure).size(), 1u);
  Search cold = search;
  cold.temperature = 0.01;
  EXPECT_EQ(counts(cold).size(), 1u);
}

TEST(T5Samples, RejectsInvalidSearchSettings) {
  const auto refusal = [](const auto& change) {
    Search search;
    change(search);
    return error_of<UsageError>([&] { check_search(search, 53); });
  };
  EXPECT_THAT(refusal([](Search& s) { s.beams = 27; }),
              HasSubstr("27 beams, must be from 1 to 26"));
  EXPECT_THAT(refusal([](Search& s) { s.least_tokens = 33; }),
              HasSubstr("output length is from 33 to 32 tokens"));
  EXPECT_THAT(refusal([](Search& s) { s.answers = 2; }),
              HasSubstr("2 outputs requested from 1 beam"));
  EXPECT_THAT(refusal([](Search& s) { s.top_k = 2; }), HasSubstr("top-p require sampling"));
  EXPECT_THAT(refusal([](Search& s) { s.temperature = 0; }), HasSubstr("temperature is 0"));
  EXPECT_THAT(refusal([](Search& s) { s.temperature = 1e5; }), HasSubstr("temperature is 100000"));
  EXPECT_THAT(refusal([](Search& s) { s.top_p = 1.5; }),
              HasSubstr("top-p is 1.5, must be above 0"));
  EXPECT_THAT(refusal([](Search& s) { s.sample = true, s.beams = 2; }),
              HasSubstr("sampling cannot be combined with 2 beams"));
}

}  // namespace
}  // namespace smelt::model
