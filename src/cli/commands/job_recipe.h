// What a job at Google needs of a recipe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/job_results.h"
#include "cloud/doctor.h"
#include "cost_model/accelerator.h"
#include "cost_model/estimate.h"
#include "pipeline/recipe.h"

namespace smelt {

// The recipe as a dry run here judges it; that this machine has no such device is no fault. With a
// type: for a job on it.
struct JudgedRecipe {
  DoctorCheck check;
  std::optional<RunTime> planned;  // nothing where that is not known
};
JudgedRecipe judge_recipe(const std::string& path, const std::vector<std::string>& settings,
                          const Accelerator* type = nullptr);

// A recipe whose files lie in a job's folder of the bucket.
struct StagedRecipe {
  std::vector<StagedFile> files;
  std::string text;  // YAML, all that was set
};
// Files that are in a bucket already stay where they are. UsageError for one that is not there.
StagedRecipe staged_recipe(const Recipe& recipe, const std::string& folder);

// UsageError where the folder has checkpoints of a recipe of another text, vocabulary, model or
// optimizer, which the machine alone would refuse. Steps, rates, devices and evaluation may change.
void require_same_run(const StagedRecipe& staged, const std::string& folder);

}  // namespace smelt
