#include "base/field_names.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(FieldNames, RecipeFieldsBeginWithTheirSection) {
  EXPECT_EQ(recipe_field("steps"), "train.steps");
  EXPECT_EQ(recipe_field("parallelism.rules"), "train.parallelism.rules");
  EXPECT_EQ(recipe_field("eval.batch_size"), "eval.batch_size");
}

TEST(FieldNames, FlagsHaveNoSection) {
  EXPECT_EQ(flag("devices"), "--devices");
  EXPECT_EQ(flag("memory.layers"), "--layers");
  EXPECT_EQ(flag("parallelism.rules"), "--mesh-rules");
  EXPECT_EQ(flag("gradient_accumulation_steps"), "--micro-batches");
}

}  // namespace
}  // namespace smelt
