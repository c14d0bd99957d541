#include "cli/cmd_run.h"

#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <memory>

#include "cli/pipeline.h"
#include "cli/recipe_option.h"

namespace smelt {

void add_run_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "every stage of a recipe, from text to a finished model");
  const auto recipe = add_recipe_options(*command);
  command->callback([recipe] { run_recipe(recipe->load()); });
}

void add_help_command(CLI::App& app) {
  auto* command = app.add_subcommand("help", "the commands, or what can be written in a recipe");
  auto topic = std::make_shared<std::string>();
  auto type = std::make_shared<std::string>("bert");
  command->add_option("topic", *topic, "recipe")->check(CLI::IsMember({"recipe"}));
  command->add_option("--type", *type, "with the fields of this model.type")->capture_default_str();
  command->callback([topic, type, &app] {
    if (topic->empty()) {
      std::cout << app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
      return;
    }
    std::cout << std::left;
    for (const RecipeField& field : recipe_fields(*type))
      std::cout << std::setw(36) << field.path << std::setw(14) << field.default_value << field.help
                << "\n";
  });
}

}  // namespace smelt
