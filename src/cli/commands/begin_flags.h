// --resume, --fresh, --overwrite, --init-from and a pod's flags of the commands that train a
// recipe's model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands/recipe_option.h"
#include "cli/options/pod_flags.h"
#include "pipeline/pipeline.h"

namespace smelt {

struct BeginFlags {
  bool resume = false, fresh = false, overwrite = false;
  std::string init_from;
  PodWords pod;

  Beginning beginning() const;
  // --init-from over what the recipe says.
  Recipe load(RecipeOption recipe) const;
  // The same, and `work` with it, as one of several processes where that is said.
  void load_and_run(const RecipeOption& recipe,
                    const std::function<void(const Recipe&)>& work) const;
};

std::shared_ptr<BeginFlags> add_begin_flags(CLI::App& command);

}  // namespace smelt
