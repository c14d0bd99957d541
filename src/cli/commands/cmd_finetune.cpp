#include "cli/commands/cmd_finetune.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "cli/commands/cmd_run.h"
#include "cli/options/number_check.h"
#include "cli/options/recipe_option.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "pipeline/sweep/trials.h"

namespace smelt::cli {

void add_finetune_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "finetune", "train several seeds and settings of a recipe, and compare them in one table");
  const auto recipe = add_recipe_options(*command);
  auto job = std::make_shared<pipeline::TrialsJob>();
  auto json = std::make_shared<bool>(false);
  command
      ->add_option("--seeds", job->seeds, "number of runs per setting, with different train.seed")
      ->check(number_from(1))
      ->capture_default_str();
  command->add_option("--grid", job->grid,
                      "a field with values to try, such as "
                      "train.optimizer.learning_rate=1e-5,3e-5; may be given several times");
  command->add_option(
      "--against", job->against,
      "a setting of the baseline runs to compare each run with, such as train.init_from=; may be "
      "given several times");
  command->add_flag("--against-fresh", job->against_fresh,
                    "compare each run with the same model trained from random weights");
  command->add_option(
      "--metric", job->metric,
      "metric to compare the runs by (smelt metrics lists them); f1:LABEL is the F1 of one class. "
      "Default: the GLUE task's own metric; else accuracy, or pearson for regression, entity-f1 "
      "for word labels, squad-f1 for question answering");
  command->add_flag("--json", *json, "print one JSON object instead of a table");
  const auto stops = add_stop_with_input_flag(*command);
  command->callback([recipe, job, json, stops] {
    if (*stops) stop_at_end_of_input();
    job->recipe = recipe->path;
    job->settings = recipe->settings;
    const pipeline::TrialsSummary summary = pipeline::run_trials(*job);
    std::cout << (*json ? pipeline::trials_json(summary).dump(2) + "\n"
                        : pipeline::trials_text(summary));
  });
}

}  // namespace smelt::cli
