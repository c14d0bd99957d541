// The recipe of a job on Google Cloud: checks it and uploads its files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cloud/job_results.h"
#include "cloud/doctor.h"
#include "cost_model/accelerator.h"
#include "cost_model/estimate.h"
#include "pipeline/config/recipe.h"

namespace smelt::cli {

// The result of a dry run of the recipe on this machine. With an accelerator type, the recipe is
// checked for a job on that type. This machine need not have the device.
struct CheckedRecipe {
  cloud::DoctorCheck check;
  std::optional<cost_model::RunTime> planned;  // nullopt if unknown
};
CheckedRecipe judge_recipe(const std::string& path, const std::vector<std::string>& settings,
                           const cost_model::Accelerator* type = nullptr);

// A recipe whose files are stored in a job's folder of the bucket.
struct StagedRecipe {
  std::vector<StagedFile> files;
  std::string text;  // YAML with all fields that were set
};
// Returns the recipe with the paths of its local files replaced by paths in the folder, and the
// list of files to upload; uploads nothing. Files that are already in a bucket are used in place.
// Throws UsageError if a local file does not exist.
StagedRecipe staged_recipe(const pipeline::Recipe& recipe, const std::string& folder);

// Throws UsageError if the folder has checkpoints of a recipe with other text, vocabulary, model or
// optimizer: the job would refuse to resume from them. Steps, learning rates, devices and
// evaluation may differ.
void require_same_run(const StagedRecipe& staged, const std::string& folder);

}  // namespace smelt::cli
