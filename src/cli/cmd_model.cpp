#include "cli/cmd_model.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/begin_flags.h"
#include "cli/model_option.h"
#include "cli/recipe_option.h"
#include "console/answers.h"
#include "recipe/evaluation.h"
#include "recipe/pipeline.h"

namespace smelt {

void add_pretrain_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("pretrain", "train a recipe's model on its examples, or go on");
  const auto recipe = add_recipe_options(*command);
  const auto begin = add_begin_flags(*command);
  command->callback([recipe, begin] { train_model(begin->load(*recipe), begin->beginning()); });
}

void add_replay_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "replay", "run the batch of a step that was not finite again: the norm of each gradient");
  const auto recipe = add_recipe_options(*command);
  auto folder = std::make_shared<std::string>();
  command->add_option("--batch", *folder,
                      "the bad-batch folder; else the newest of the recipe's model");
  command->callback([recipe, folder] { print_report(replay_model(recipe->load(), *folder)); });
}

void add_eval_command(CLI::App& app) {
  auto* command = app.add_subcommand("eval", "measure a recipe's model on its held-out examples");
  const auto recipe = add_recipe_options(*command);
  auto json = std::make_shared<bool>(false);
  auto follow = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "a JSON object for each checkpoint instead of lines");
  command->add_flag("--follow", *follow,
                    "each checkpoint as it appears, the oldest first, until that of train.steps");
  command->callback([recipe, json, follow] {
    const Recipe loaded = *follow ? recipe->load() : recipe->load_trained("eval");
    const auto print = [&](const Evaluation& evaluation) {
      std::cout << (*json ? evaluation_json(evaluation).dump() + "\n"
                          : evaluation_report(loaded, evaluation))
                << std::flush;
    };
    if (*follow)
      follow_model(loaded, print);
    else
      print(evaluate_model(loaded));
  });
}

void add_fill_command(CLI::App& app) {
  auto* command = app.add_subcommand("fill", "a trained model fills [MASK] in texts");
  const auto model = add_model_option(*command);
  const auto options = add_fill_options(*command);
  command->callback([model, options] {
    print_filled(model->is_stored() ? StoredAnswers("fill", model->recipe.path, model->stored)
                                          .fill(options->texts, options->top)
                                    : fill_with_model(model->recipe.load_trained("fill"),
                                                      options->texts, options->top));
  });
}

void add_export_command(CLI::App& app) {
  auto* command = app.add_subcommand("export", "a recipe's model as a Hugging Face folder");
  const auto recipe = add_recipe_options(*command);
  auto out = std::make_shared<std::string>();
  command->add_option("--out", *out, "the folder to make")->required();
  command->callback([recipe, out] { export_model(recipe->load_trained("export"), *out); });
}

}  // namespace smelt
