// Tests that help and completion list the values that recipes accept.
#include "pipeline/objectives/field_choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/error_of.h"

namespace smelt::pipeline {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

TEST(FieldChoices, MatchTheErrorMessageForAnUnknownValue) {
  std::size_t checked = 0;
  for (const RecipeField& field : recipe_fields()) {
    const auto choices = field_choices(field);
    if (choices.empty() || choices == std::vector<std::string>{"true", "false"}) continue;
    const std::string refused = error_of<UsageError>(
        [&] { recipe_of({{field.path, "zzzzzzzzzzzz"}}, "here", {"text.input=none.txt"}); });
    EXPECT_THAT(refused, HasSubstr(str("known: ", join(choices, ", ")))) << field.path;
    ++checked;
  }
  EXPECT_GT(checked, 10U);
}

TEST(FieldChoices, AreTrueAndFalseForASwitchAndEmptyForANumber) {
  EXPECT_EQ(field_choices({"eval.best", "false", "", {}}),
            (std::vector<std::string>{"true", "false"}));
  EXPECT_TRUE(field_choices({"train.steps", "1000", "", {}}).empty());
}

}  // namespace
}  // namespace smelt::pipeline
