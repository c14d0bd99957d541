// The recipes that come with smelt.
#include <gtest/gtest.h>

#include "cli/recipe.h"
#include "store/folder.h"
#include "support/paths.h"

namespace smelt {
namespace {

// Loading one builds its training program.
TEST(Recipes, EachIsLoadedAndBuilt) {
  const auto names = list_folder(source_path("recipes"));
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names)
    EXPECT_NO_THROW(load_recipe(source_path("recipes/" + name), {})) << name;
}

}  // namespace
}  // namespace smelt
