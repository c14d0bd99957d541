// NameRules and expressions compared with JEstimator's (tools/golden_amos.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "model/optim/amos_presets.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::model {

using compiler::Dims;
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Json golden() { return Json::parse(io::read_file(source_path("tests/golden/amos.json"))); }

void expect_value(const RuleValue& got, const Json& want) {
  if (const double* number = std::get_if<double>(&got)) {
    ASSERT_TRUE(want.is_number()) << value_text(got) << " for " << want;
    EXPECT_DOUBLE_EQ(*number, want.get<double>());
  } else {
    EXPECT_EQ(Json(std::get<std::vector<double>>(got)), want);
  }
}

TEST(Expression, MatchesTheOriginalsEvaluator) {
  const auto cases = golden()["expressions"];
  EXPECT_GT(cases.size(), 40u);
  for (const auto& one : cases) {
    SCOPED_TRACE(one[0]);
    expect_value(Expression("test", one[0].get<std::string>())({6, 10, 4}), one[1]);
  }
}

std::string refusal(const std::string& text, const Dims& shape = {6, 10}) {
  return error_of<UsageError>([&] { Expression("x", text)(shape); });
}

TEST(Expression, ThrowsOnInvalidExpressions) {
  EXPECT_EQ(refusal("sqr(2)"), "x: 'sqr(2)': unknown function 'sqr'\n  hint: did you mean 'sqrt'?");
  EXPECT_EQ(refusal("SHAP[0]"), "x: 'SHAP[0]': unknown name 'SHAP'\n  hint: did you mean 'SHAPE'?");
  EXPECT_EQ(refusal("SHAPE[2]"),
            "x: 'SHAPE[2]': index 2 is out of range for (6, 10), which has 2 elements\n"
            "  hint: add a separate rule for this parameter before this one");
  EXPECT_THAT(refusal("SHAPE[-1]", {}),
              HasSubstr("index -1 is out of range for (), which has 0 elements"));
  EXPECT_THAT(refusal("SHAPE[0.5]"), HasSubstr("the index 0.5 must be an integer"));
  EXPECT_THAT(refusal("(1 + 2"), HasSubstr("found the end, expected ')'"));
  EXPECT_THAT(refusal("1 2"), HasSubstr("found '2', expected an operator"));
  EXPECT_THAT(refusal("2 *"), HasSubstr("found the end, expected a value"));
  EXPECT_THAT(refusal(""), HasSubstr("found the end, expected a value"));
  EXPECT_THAT(refusal("."), HasSubstr("found '.', expected a number"));
  EXPECT_THAT(refusal("SHAPE[::2]"), HasSubstr("found ':2]', expected a value"));
  EXPECT_THAT(refusal("2 * SHAPE"), HasSubstr("'*' needs a number, found the tuple (6, 10)"));
  EXPECT_THAT(refusal("prod(3)"), HasSubstr("prod needs a tuple, found 3"));
  EXPECT_THAT(refusal("sqrt(1, 2)"), HasSubstr("sqrt has 2 arguments, expected 1"));
  EXPECT_THAT(refusal("1 / 0"), HasSubstr("'/' gives infinity"));
  EXPECT_THAT(refusal("sqrt(-1)"), HasSubstr("sqrt gives NaN"));
  EXPECT_THAT(refusal("max(())"), HasSubstr("max gives NaN"));
}

TEST(NameRules, UseTheFirstRuleThatMatchesAtTheStartOfAName) {
  const NameRules rules("eta",
                        parse_rules("eta", "b/c = 1; a = 2\n .*/c(?=x)x = 3 ;; .* = SHAPE[0]"));
  const auto value = [&](const char* name) { return std::get<double>(rules.of(name, {7})); };
  EXPECT_EQ(value("b/c"), 1);
  EXPECT_EQ(value("b/cd"), 1);  // need not match to the end
  EXPECT_EQ(value("ab/c"), 2);
  EXPECT_EQ(value("x/b/c"), 7);  // must match at the start
  EXPECT_EQ(value("x/cx"), 3);   // the last '=' separates
  EXPECT_EQ(rules.settings(), Json({"b/c = 1", "a = 2", ".*/c(?=x)x = 3", ".* = SHAPE[0]"}));
}

TEST(NameRules, RejectInvalidRules) {
  EXPECT_THAT(
      error_of<UsageError>([] { parse_rules("train.optimizer.eta_rules", ".*/kernel: 2"); }),
      HasSubstr("train.optimizer.eta_rules: '.*/kernel: 2' has no '='"));
  EXPECT_EQ(
      error_of<UsageError>([] { parse_rules("eta", "a = " + std::string(200000, '(') + "1"); }),
      "eta: a rule has 200005 bytes, the maximum is 4096; it begins with 'a = " +
          std::string(36, '(') + "'\n  hint: shorten it, or split it into several rules");
  const std::string open(2040, '('), close(2040, ')');
  for (const std::string& longest : {"a = " + open + "1" + close, open + "a" + close + " = 1"})
    EXPECT_EQ(std::get<double>(NameRules("eta", parse_rules("eta", longest)).of("a", {})), 1);
  EXPECT_THAT(
      error_of<UsageError>([] { NameRules("train.optimizer.eta_rules", {{"a(", "1"}}); }),
      AllOf(HasSubstr("train.optimizer.eta_rules: 'a(' is not a valid regular expression: "),
            HasSubstr("hint: correct it")));
  EXPECT_EQ(
      error_of<UsageError>([] { (void)NameRules("eta", {{"a", "1"}}).of("b/kernel", {2, 3}); }),
      "eta: no rule matches the parameter b/kernel of shape [2,3]\n"
      "  hint: add a rule for it, or end with a rule .* = …");
}

TEST(AmosPresets, JestimatorPresetMatchesTheOriginalFunctions) {
  const AmosPreset preset = amos_preset_for("jestimator_bert");
  const NameRules eta("eta", preset.eta), slots("slots", preset.slot_shape);
  const auto models = golden()["models"];
  ASSERT_EQ(models.size(), 3u);
  for (const auto& [model, parameters] : models.items())
    for (const auto& p : parameters) {
      SCOPED_TRACE(str(model, " ", p["name"]));
      const Dims dims = p["shape"];
      expect_value(eta.of(p["name"], dims), p["eta"]);
      expect_value(slots.of(p["name"], dims), p["slots"]);
    }
}

TEST(AmosPresets, BertMatchesJestimatorOnTheOriginalNames) {
  const AmosPreset preset = amos_preset_for("bert");
  const NameRules eta("eta", preset.eta), slots("slots", preset.slot_shape);
  struct Case {
    const char* name;
    Dims dims;
    double eta;
    Dims slots;
  };
  const double by_hidden = std::sqrt(1.0 / 48);
  for (const auto& [name, dims, scale, slot] : std::vector<Case>{
           {"bert/embeddings/word_embeddings", {99, 48}, std::sqrt(2.0 / 48), {99, 1}},
           {"bert/embeddings/LayerNorm/gamma", {48}, 1, {}},
           {"bert/embeddings/LayerNorm/beta", {48}, 0.5, {}},
           {"bert/encoder/layer_11/attention/self/query/kernel", {48, 48}, by_hidden, {1, 48}},
           {"bert/encoder/layer_0/attention/self/query/bias", {48}, 0.5, {}},
           {"bert/encoder/layer_0/attention/output/dense/kernel", {48, 48}, by_hidden, {1, 48}},
           {"bert/encoder/layer_0/intermediate/dense/kernel", {48, 96}, by_hidden, {1, 96}},
           {"bert/encoder/layer_0/output/dense/kernel", {96, 48}, std::sqrt(2.0 / 96), {1, 48}},
           {"bert/pooler/dense/kernel", {48, 48}, by_hidden, {1, 48}},
           {"cls/predictions/output_bias", {99}, 0.5, {}},
           {"cls/seq_relationship/output_weights", {2, 48}, by_hidden, {2, 1}},
           {"output_weights", {3, 48}, by_hidden, {3, 1}},
           {"output_bias", {3}, 0.5, {}},
           {"cls/squad/output_weights", {2, 48}, by_hidden, {2, 1}},
           {"classifier/out_proj/kernel", {48, 3}, by_hidden, {1, 3}},
           {"qa_outputs/kernel", {48, 2}, by_hidden, {1, 2}},
           {"generator/embeddings_project/kernel", {16, 48}, 0.25, {1, 48}}}) {
    SCOPED_TRACE(name);
    expect_value(eta.of(name, dims), scale);
    expect_value(slots.of(name, dims), Json(slot));
  }
  EXPECT_EQ(amos_preset_for("electra").name, "bert");
  EXPECT_EQ(amos_preset_for("roberta").name, "bert");
  EXPECT_EQ(amos_preset_for("classify").name, "bert");
  EXPECT_EQ(amos_preset_for("text_to_text").name, "t5");
  EXPECT_TRUE(amos_preset_for("toy").eta.empty());
}

TEST(AmosPresets, T5MatchesTheAuthorsRecipe) {
  const AmosPreset preset = amos_preset_for("t5");
  const NameRules eta("eta", preset.eta), slots("slots", preset.slot_shape);
  struct Case {
    const char* name;
    Dims dims;
    double eta;
    Dims slots;
  };
  for (const auto& [name, dims, scale, slot] : std::vector<Case>{
           {"token_embedder/embedding", {99, 64}, 1, {99, 1}},
           {"encoder/relpos_bias/rel_embedding", {4, 32}, 0.5, {4, 1}},
           {"encoder/layers_0/pre_attention_layer_norm/scale", {64}, 1, {}},
           {"encoder/layers_0/attention/query/kernel", {64, 128}, 1.0 / 64, {1, 128}},
           {"decoder/layers_0/encoder_decoder_attention/key/kernel", {64, 128}, 0.125, {1, 128}},
           {"encoder/layers_0/mlp/wi_0/kernel", {64, 256}, 0.125, {1, 256}},
           {"encoder/layers_0/mlp/wo/kernel", {128, 64}, 0.125, {1, 64}},
           {"encoder/block_000/layer_000/SelfAttention/q", {64, 128}, 1.0 / 64, {1, 128}},
           {"encoder/block_000/layer_000/SelfAttention/o", {64, 128}, 0.125, {1, 128}}}) {
    SCOPED_TRACE(name);
    expect_value(eta.of(name, dims), scale);
    expect_value(slots.of(name, dims), Json(slot));
  }
}

}  // namespace
}  // namespace smelt::model
