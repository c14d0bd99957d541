#include "cli/job_recipe.h"

#include "base/error.h"
#include "recipe/dry_run.h"
#include "recipe/objective_type.h"

namespace smelt {
namespace {

// The last line of a dry run says what is lacking, "…: not everything …: this; that; nothing was
// made".
std::string judge(const Recipe& recipe) {
  const std::string text = dry_run_text(recipe);
  const std::string whole(trim(text));
  const std::string verdict = whole.substr(whole.rfind('\n') + 1);
  for (const char* fault : {"it does not fit", "it fits with --set"})
    if (const std::size_t at = verdict.find(fault); at != std::string::npos)
      throw UsageError(verdict.substr(at, verdict.find(';', at) - at),
                       "smelt plan says where and how it fits");
  return str(recipe.type->name, ", ", recipe.train.steps, " steps of ", recipe.train.batch_size,
             " on ", recipe.train.devices, " x ", recipe.train.device);
}

}  // namespace

DoctorCheck recipe_check(const std::string& path, const std::vector<std::string>& settings) {
  return looked_at("recipe", [&] { return judge(load_recipe(path, settings)); });
}

}  // namespace smelt
