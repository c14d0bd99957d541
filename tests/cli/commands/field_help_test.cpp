#include "cli/commands/field_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(FieldHelp, MatchesTheReferencePage) {
  EXPECT_EQ(recipe_markdown(), io::read_file(source_path("docs/reference/recipe.md")))
      << "smelt help recipe --markdown > docs/reference/recipe.md";
}

TEST(FieldHelp, ListsTheFieldsOfANestedSection) {
  const std::string help = field_help("train.early_stopping");
  EXPECT_THAT(help, HasSubstr("train.early_stopping.patience"));
  EXPECT_THAT(help, Not(HasSubstr("train.steps")));
}

TEST(FieldHelp, SuggestsTheNewNameOfARenamedField) {
  EXPECT_EQ(error_of<UsageError>([] { (void)field_help("train.keep"); }),
            "help: no recipe field 'train.keep'\n"
            "  hint: did you mean 'train.checkpoint.max_to_keep'?");
}

TEST(FieldHelp, FindsAFieldWithoutItsSection) {
  EXPECT_EQ(field_named("steps"), "train.steps");
  EXPECT_EQ(field_named("layers"), "train.memory.layers");
  EXPECT_EQ(field_named("type"), "model.type");
  EXPECT_EQ(field_named("none"), "");
}

TEST(FieldHelp, ListsTheChoicesOfAnEnumeration) {
  EXPECT_THAT(field_help("train.memory.layers"), HasSubstr("choices    auto, unrolled, scan\n"));
}

}  // namespace
}  // namespace smelt::cli
