// Tests of recipes with model.type jestimator_bert: fields, and invalid settings on load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

class JestimatorRecipe : public testing::Test {
 protected:
  Recipe recipe(const std::vector<std::string>& settings = {}) {
    io::write_file(dir_.file("r.yaml"), "model: {type: jestimator_bert}\n");
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string refusal(const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  }

  TempDir dir_;
};

TEST_F(JestimatorRecipe, HasTheOriginalsFieldsAndDefaults) {
  const Recipe r = recipe({"model.variant=rope"});
  EXPECT_EQ(r.model["max_length"], 512);
  EXPECT_EQ(r.model["num_segments"], 1);
  EXPECT_EQ(r.model["mask_token_id"], -1);
  EXPECT_EQ(r.model["mask_rate"], 0.15);
  EXPECT_EQ(r.eval.passes, 1);
}

TEST_F(JestimatorRecipe, NamesInvalidSettings) {
  EXPECT_THAT(refusal({"model.variant=rpe"}),
              HasSubstr("--set: model: variant is 'rpe'\n  hint: "));
  EXPECT_THAT(refusal({"model.num_heads=7"}),
              HasSubstr("--set: model: hidden_size 768 is not a multiple of num_heads 7"));
  EXPECT_THAT(
      refusal({"model.mask_token_id=9000"}),
      HasSubstr("--set: jestimator_bert: mask_token_id 9000 must be below vocab_size 8000"));
  EXPECT_THAT(refusal({"model.mask_token_id=-2"}),
              HasSubstr("model.mask_token_id is -2, must be at least -1"));
  EXPECT_THAT(refusal({"model.mask_rate=1.5"}),
              HasSubstr("mask_rate is 1.5, must be between 0 and 1"));
  EXPECT_THAT(refusal({"model.mask_prob=0.1"}), HasSubstr("did you mean 'model.mask_rate'?"));
  EXPECT_THAT(refusal({"train.memory.logits_mb=-1"}),
              HasSubstr("train.memory.logits_mb is -1, must be at least 0"));
  EXPECT_THAT(refusal({"eval.passes=0"}), HasSubstr("eval.passes is 0, must be at least 1"));
}

TEST_F(JestimatorRecipe, TaskRequiresTheVocabulary) {
  const Recipe r = recipe({"out=" + dir_.file("out")});
  EXPECT_THAT(error_of<UsageError>([&] { (void)r.type->task(r); }),
              HasSubstr("the vocabulary is not made yet"));
}

}  // namespace
}  // namespace smelt::pipeline
