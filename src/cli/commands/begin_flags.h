// The flags --resume, --fresh, --overwrite and --init-from and the multi-host flags, for the
// commands that train a recipe's model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/options/pod_flags.h"
#include "cli/options/recipe_option.h"
#include "pipeline/stages/pipeline.h"

namespace smelt::cli {

struct BeginFlags {
  bool resume = false, fresh = false, overwrite = false;
  std::string init_from;
  distributed::PodSettings pod;

  pipeline::Beginning beginning() const;
  // Loads the recipe; --init-from overrides its train.init_from.
  pipeline::Recipe load(RecipeOption recipe) const;
  // Loads the recipe and calls `work` with it, in a multi-host run if the flags or the environment
  // describe one.
  void load_and_run(const RecipeOption& recipe,
                    const std::function<void(const pipeline::Recipe&)>& work) const;
};

std::shared_ptr<BeginFlags> add_begin_flags(CLI::App& command);

}  // namespace smelt::cli
