#include "cli/job_recipe.h"

#include "base/error.h"
#include "recipe/dry_run.h"
#include "recipe/objective_type.h"

namespace smelt {
namespace {

std::string judge(const Recipe& recipe) {
  if (const std::string misfit = dry_run(recipe).misfit; !misfit.empty())
    throw UsageError(misfit, "smelt plan says where and how it fits");
  return str(recipe.type->name, ", ", recipe.train.steps, " steps of ", recipe.train.batch_size,
             " on ", recipe.train.devices, " x ", recipe.train.device);
}

}  // namespace

DoctorCheck recipe_check(const std::string& path, const std::vector<std::string>& settings) {
  return looked_at("recipe", [&] { return judge(load_recipe(path, settings)); });
}

}  // namespace smelt
