#include "cli/cmd_run.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "cli/begin_flags.h"
#include "cli/recipe_option.h"
#include "recipe/dry_run.h"
#include "recipe/evaluation.h"
#include "recipe/pipeline.h"

namespace smelt {

void add_run_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "every stage of a recipe, from text to a finished model");
  const auto recipe = add_recipe_options(*command);
  const auto begin = add_begin_flags(*command);
  auto dry_run = std::make_shared<bool>(false);
  command->add_flag("--dry-run", *dry_run,
                    "only check what the run needs and print what it would do");
  command->callback([recipe, begin, dry_run] {
    const Recipe loaded = begin->load(*recipe);
    if (*dry_run)
      std::cout << dry_run_text(loaded, begin->beginning());
    else
      run_recipe(loaded, begin->beginning(), [&](const Evaluation& evaluation) {
        std::cout << evaluation_report(loaded, evaluation) << std::flush;
      });
  });
}

}  // namespace smelt
