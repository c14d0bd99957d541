// The nested sections of a recipe's train section.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "io/filesystem/file.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& setting) {
  return error_of<UsageError>([&] { recipe_of({{"text.input", "none.txt"}}, "here", {setting}); });
}

TEST(TrainSection, SuggestsTheNewNameOfARenamedField) {
  const auto fields = recipe_fields();
  for (const auto& [former, now] : {std::pair{"keep", "train.checkpoint.max_to_keep"},
                                    {"save_every", "train.checkpoint.save_interval_steps"},
                                    {"keep_best", "train.checkpoint.best_metric"},
                                    {"patience", "train.early_stopping.patience"},
                                    {"optimizer", "train.optimizer.type"},
                                    {"momentum", "train.optimizer.beta1"},
                                    {"schedule", "train.schedule.type"},
                                    {"end_factor", "train.schedule.min_lr_rate"},
                                    {"precision", "train.precision.compute"},
                                    {"save", "train.memory.remat_policy"},
                                    {"mesh_rules", "train.parallelism.rules"},
                                    {"micro_batches", "train.gradient_accumulation_steps"},
                                    {"rewind_skip", "train.loss_spike.skip_batches"},
                                    {"prune_by", "train.pruning.method"},
                                    {"init", "train.init_from"},
                                    {"log_every", "train.logging_steps"}}) {
    EXPECT_EQ(refusal(str("train.", former, "=1")),
              str("--set: unknown field 'train.", former, "'\n  hint: did you mean '", now, "'?"));
    EXPECT_NE(std::ranges::find(fields, now, &RecipeField::path), fields.end()) << now;
  }
}

TEST(TrainSection, RejectsAValueForASection) {
  EXPECT_EQ(refusal("train.checkpoint=5"),
            "--set: unknown field 'train.checkpoint'\n"
            "  hint: it is a section; did you mean 'train.checkpoint.save_interval_steps'?");
}

TEST(TrainSection, AcceptsNestedSectionsAndFullPaths) {
  const TempDir dir;
  io::write_file(dir.file("r.yaml"),
                 "text: {input: none.txt}\n"
                 "train:\n"
                 "  optimizer: {type: lamb, learning_rate: 2e-3}\n"
                 "  checkpoint:\n"
                 "    max_to_keep: 2\n"
                 "  parallelism.reduction: per_replica\n");
  const Recipe r = load_recipe(dir.file("r.yaml"), {"train.memory.layers=scan"});
  EXPECT_EQ(r.train.optimizer.type, "lamb");
  EXPECT_EQ(r.train.optimizer.learning_rate, 2e-3);
  EXPECT_EQ(r.train.checkpoint.max_to_keep, 2);
  EXPECT_EQ(r.train.reduction, model::Reduction::per_replica);
  EXPECT_EQ(r.train.compute->layers, model::Layers::scan);
  EXPECT_EQ(r.train.compute->save, std::nullopt);  // auto
}

TEST(TrainSection, IsStoredWithNestedSections) {
  const TempDir dir;
  const Recipe r = recipe_of({{"out", dir.path()}, {"text.input", "none.txt"}}, "here",
                             {"train.checkpoint.max_to_keep=2", "train.optimizer.type=adamw"});
  keep_recipe(r);
  const std::string file = dir.file("recipe.yaml");
  EXPECT_THAT(io::read_file(file), HasSubstr("\n  checkpoint:\n    best_metric: \"\"\n"));
  const FieldValues kept = recipe_file_fields(file);
  EXPECT_EQ(kept.at("train.checkpoint.max_to_keep"), "2");
  EXPECT_EQ(kept.at("train.optimizer.type"), "adamw");
  EXPECT_EQ(load_recipe(file, {}).sections.at("train"), r.sections.at("train"));
}

}  // namespace
}  // namespace smelt::pipeline
