#include "cli/cmd_run.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/begin_flags.h"
#include "cli/pipeline.h"
#include "cli/recipe_option.h"

namespace smelt {

void add_run_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "every stage of a recipe, from text to a finished model");
  const auto recipe = add_recipe_options(*command);
  const auto begin = add_begin_flags(*command);
  command->callback([recipe, begin] { run_recipe(begin->load(*recipe), begin->beginning()); });
}

}  // namespace smelt
