// Tests of the recipes in recipes/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/recipe.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/objectives/load_recipe.h"
#include "runs/golden_classify.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pipeline {
namespace {

// Loading one builds its training program.
TEST(Recipes, LoadAndBuildTheirPrograms) {
  const auto names = io::list_folder(source_path("recipes"));
  ASSERT_FALSE(names.empty());
  TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("base"));  // for recipes that use its sizes
  for (const std::string& name : names) {
    std::vector<std::string> settings;
    if (name.starts_with("classify") || name.starts_with("compress") ||
        name.starts_with("electra-classify") || name.starts_with("embed"))
      settings = {"train.init_from=" + dir.file("base"), "data.seq_length=12"};
    if (name.starts_with("squad"))
      settings = {"train.init_from=" + dir.file("base"), "data.seq_length=12",
                  "data.question_tokens=4"};
    if (name.starts_with("t5-classify") || name.starts_with("ttt"))
      continue;  // starts from a T5 that the test does not have
    EXPECT_NO_THROW(load_recipe(source_path("recipes/" + name), settings)) << name;
  }
}

TEST(Recipes, ContinuedPretrainingRecipesMatchTheirInitialModel) {
  for (const char* size : {"", "-small"}) {
    const auto of = [&](const char* name) {
      return load_recipe(source_path(str("recipes/bert-", name, size, ".yaml")), {});
    };
    const Recipe first = of("from-scratch"), second = of("continue");
    EXPECT_EQ(first.model, second.model) << size;
  }
}

TEST(Recipes, ContinuedPretrainingRecipesRequireTheirInitialModel) {
  TempDir dir;
  io::write_file(dir.file("text.txt"), "Some text.\n");
  const Recipe r = load_recipe(source_path("recipes/bert-continue.yaml"),
                               {"text.input=" + dir.file("text.txt"), "out=" + dir.file("out")});
  EXPECT_THAT(error_of<UsageError>([&] { dry_run_text(r); }),
              testing::HasSubstr("init: there is no multi_cased_L-12_H-768_A-12/bert_model.ckpt"));
}

TEST(Recipes, RejectsEvalPassesForAModelWithoutRandomMasks) {
  TempDir dir;
  io::write_file(dir.file("r.yaml"), "out: x\n");
  EXPECT_EQ(
      error_of<UsageError>([&] { load_recipe(dir.file("r.yaml"), {"eval.passes=20"}); }),
      "--set: eval.passes is 20, but bert draws no random masks\n  hint: set eval.passes to 1");
}

}  // namespace
}  // namespace smelt::pipeline
