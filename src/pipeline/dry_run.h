// smelt run RECIPE --dry-run: what a run would do, after a look at everything that it needs.
#pragma once

#include <optional>
#include <string>

#include "cost_model/accelerator.h"
#include "cost_model/estimate.h"
#include "pipeline/pipeline.h"

namespace smelt {

struct DryRun {
  std::string text;
  std::string misfit;  // why the step does not fit its devices as it is; "" = it does, or unknown
  std::optional<RunTime> planned = {};  // of devices that are not here, where it fits them
};

// Its text: every field of the recipe, the model's size, memory, steps, and where everything will
// go. UsageError or SystemError for what would stop the run: text that is not there, a folder that
// may not be written to (by writing there), weights to begin with, a device's plugin, a model of
// other data. Nothing stays behind. Whether it fits TPUs that are not here is judged for `on`, or
// for the usual slice of so many.
DryRun dry_run(const Recipe& recipe, const Beginning& beginning = {},
               const Accelerator* on = nullptr);
std::string dry_run_text(const Recipe& recipe, const Beginning& beginning = {});

}  // namespace smelt
