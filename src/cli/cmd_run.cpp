#include "cli/cmd_run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "checkpoint/checkpoint.h"
#include "cli/begin_flags.h"
#include "cli/recipe_option.h"
#include "recipe/dry_run.h"
#include "recipe/evaluation.h"
#include "recipe/objective_type.h"
#include "recipe/pipeline.h"

namespace smelt {
namespace {

// What to do with the model that is there now.
void print_next_commands(const Recipe& recipe) {
  const std::string out = quoted(recipe.out);
  const std::int64_t done = latest_checkpoint(RecipePaths(recipe).model_dir).value_or(0);
  const std::int64_t more = 2 * std::max(recipe.train.steps, done);
  std::cout << "next:\n";
  const auto& questions = recipe.type->questions;
  if (answers<FillMaskJob>(questions))
    std::cout << "  smelt fill " << out << " --text 'a text with a [MASK]'\n";
  if (answers<DetectJob>(questions)) std::cout << "  smelt detect " << out << " --text 'a text'\n";
  if (answers<GenerateJob>(questions))
    std::cout << "  smelt generate " << out << " --text 'a text"
              << (recipe.type->reads_text() ? " with an <extra_id_0>" : "") << "'\n";
  if (answers<ClassifyJob>(questions))
    std::cout << "  smelt predict " << out << " --text 'a text'\n";
  std::cout << "  smelt report " << out
            << "      # a page of curves: " << join_path(recipe.out, "report.html")
            << "\n  smelt run " << out << " --set "
            << (recipe.train.epochs > 0 ? str("train.epochs=", 2 * recipe.train.epochs)
                                        : str("train.steps=", more))
            << "      # goes on training\n";
  if (recipe.type->export_folder)
    std::cout << "  " << RecipePaths(recipe).hugging_face
              << "      # is for Hugging Face transformers; "
              << "smelt export " << out << " --out FOLDER makes another\n";
}

}  // namespace

void add_run_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "every stage of a recipe, from text to a finished model");
  const auto recipe = add_recipe_options(*command);
  const auto begin = add_begin_flags(*command);
  auto dry_run = std::make_shared<bool>(false);
  command->add_flag("--dry-run", *dry_run,
                    "only check what the run needs and print what it would do");
  command->callback([recipe, begin, dry_run] {
    if (*dry_run) {
      std::cout << dry_run_text(begin->load(*recipe), begin->beginning());
      return;
    }
    begin->load_and_run(*recipe, [&](const Recipe& loaded) {
      run_recipe(loaded, begin->beginning(), [&](const Evaluation& evaluation) {
        std::cout << evaluation_report(loaded, evaluation) << std::flush;
      });
      print_next_commands(loaded);
    });
  });
}

}  // namespace smelt
