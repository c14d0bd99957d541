#include "cli/commands/cmd_run.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "base/events.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/commands/begin_flags.h"
#include "cli/options/json_output.h"
#include "cli/options/recipe_option.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/run_length.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/objectives/classify_data.h"
#include "pipeline/objectives/small_run.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/run_result.h"

namespace smelt::cli {
namespace {

// Prints commands to use the finished model.
void print_next_commands(const pipeline::Recipe& recipe) {
  const std::string out = quoted(recipe.out);
  const std::int64_t done =
      checkpoint::latest_checkpoint(pipeline::RecipePaths(recipe).model_dir).value_or(0);
  std::cout << "next:\n";
  const pipeline::InferenceJobs& inference = recipe.type->inference;
  if (inference.fill_mask)
    std::cout << "  smelt fill " << out << " --text 'a text with a [MASK]'\n";
  if (inference.detect) std::cout << "  smelt detect " << out << " --text 'a text'\n";
  for (const auto& [command, part] : inference.exported)
    std::cout << "  smelt " << command << " "
              << quoted(io::join_path(pipeline::RecipePaths(recipe).hugging_face, part))
              << " --text 'a text" << (command == "fill" ? " with a [MASK]" : "") << "'\n";
  if (inference.generate)
    std::cout << "  smelt generate " << out << " --text 'a text"
              << (recipe.type->reads_text() ? " with an <extra_id_0>" : "") << "'\n";
  if (inference.embeds) std::cout << "  smelt embed " << out << " --text 'a text'\n";
  if (inference.classify)
    std::cout << "  smelt predict " << out << " " << pipeline::example_flags(recipe) << "\n";
  std::cout << "  smelt report " << out
            << "      # a page of curves: " << io::join_path(recipe.out, "report.html")
            << "\n  smelt run " << out << " --set "
            << pipeline::doubled_length(recipe, std::max(recipe.train.steps, done))
            << "      # train longer\n";
  if (recipe.type->export_folder)
    std::cout << "  " << pipeline::RecipePaths(recipe).hugging_face
              << "      # for Hugging Face transformers; "
              << "smelt export " << out << " --out FOLDER exports another\n";
}

struct RunCommandFlags {
  bool dry_run = false, small = false, json = false;
};

// Sends the paths with which a program can follow the run.
void send_begin(const pipeline::Recipe& recipe) {
  const std::string model = pipeline::RecipePaths(recipe).model_dir;
  send_event("begin", {{"out", recipe.out},
                       {"model", model},
                       {"metrics", io::join_path(model, "metrics.jsonl")},
                       {"steps", recipe.train.seconds > 0 ? Json() : Json(recipe.train.steps)}});
}

RecipeOption made_small(RecipeOption recipe) {
  pipeline::add_step_settings(recipe.settings);
  for (std::string& setting : pipeline::small_settings(recipe.load()))
    recipe.settings.push_back(std::move(setting));
  return recipe;
}

// Returns the dry run as JSON, or prints its text.
OrderedJson dry_run(const RecipeOption& given, const BeginFlags& begin, bool json) {
  const pipeline::Recipe recipe = begin.load(given);
  if (json) return pipeline::dry_run_json(recipe, begin.beginning());
  std::cout << pipeline::dry_run_text(recipe, begin.beginning());
  return {};
}

}  // namespace

void run_and_report(const pipeline::Recipe& recipe, const pipeline::Beginning& beginning) {
  pipeline::run_recipe(recipe, beginning, [&](const execution::Evaluation& evaluation) {
    std::cout << pipeline::evaluation_report(recipe, evaluation) << std::flush;
    send_event("evaluation", {{"step", evaluation.global_step},
                              {"split", recipe.eval.split},
                              {"metrics", pipeline::evaluation_json(evaluation)}});
  });
}

void stop_at_end_of_input() {
  std::thread([] {
    std::array<char, 256> ignored;
    ssize_t count = 0;
    do count = ::read(STDIN_FILENO, ignored.data(), ignored.size());
    while (count > 0 || (count < 0 && errno == EINTR));
    ::kill(::getpid(), SIGTERM);
  }).detach();
}

std::shared_ptr<bool> add_stop_with_input_flag(CLI::App& command) {
  auto stops = std::make_shared<bool>(false);
  command.add_flag("--stop-with-input", *stops,
                   "save a checkpoint and stop at the end of standard input, for a program that "
                   "starts runs");
  return stops;
}

void add_run_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "run a recipe from text to a finished model, or resume a run");
  const auto recipe = add_recipe_options(*command);
  const auto begin = add_begin_flags(*command);
  auto flags = std::make_shared<RunCommandFlags>();
  command->add_flag("--dry-run", flags->dry_run,
                    "only check what the run needs and print what it would do");
  command->add_flag(
      "--small", flags->small,
      "try the recipe on this CPU: a small model and at most 300 steps, on the recipe's "
      "text; the output folder is the recipe's with the suffix -small");
  const auto stops = add_stop_with_input_flag(*command);
  add_json_flag(*command, flags->json);
  command->callback([recipe, begin, flags, stops] {
    const RecipeOption given = flags->small ? made_small(*recipe) : *recipe;
    if (*stops) stop_at_end_of_input();
    print_events(flags->json, [&] {
      if (flags->dry_run) return dry_run(given, *begin, flags->json);
      OrderedJson result;
      begin->load_and_run(given, [&](const pipeline::Recipe& loaded) {
        send_begin(loaded);
        run_and_report(loaded, begin->beginning());
        print_next_commands(loaded);
        result = pipeline::run_result_json(loaded);
      });
      return result;
    });
  });
}

}  // namespace smelt::cli
