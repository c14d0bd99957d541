// Dry run (smelt run RECIPE --dry-run): describes what a run would do, after checking its inputs.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "cost_model/accelerator.h"
#include "cost_model/estimate.h"
#include "pipeline/stages/pipeline.h"

namespace smelt::pipeline {

struct DryRun {
  std::string text;
  // The text as JSON: for each title of the text an object with its values by name; "ready",
  // whether the run can start on this machine; and "missing", a list of what is missing or does not
  // fit.
  OrderedJson json;
  // Why the step does not fit on its devices; empty if it does or this is unknown.
  std::string misfit;
  // Time on devices that are not on this machine, if the step fits them.
  std::optional<cost_model::RunTime> planned = {};
};

// Checks the recipe and describes it: every field, the size of the model, memory, steps, and output
// paths. Throws UsageError or SystemError for anything that would stop the run: missing text, an
// output folder that is not writable (a test file is written and deleted), missing initial weights
// or device plugin, or a model in the folder that was trained on other data. For TPUs that are not
// on this machine, checks whether the step fits on `on`; null: on the usual slice with the same
// number of devices.
DryRun dry_run(const Recipe& recipe, const Beginning& beginning = {},
               const cost_model::Accelerator* on = nullptr);
// Return DryRun::text and DryRun::json after also running the recipe's vocab.segment_command on an
// example.
std::string dry_run_text(const Recipe& recipe, const Beginning& beginning = {});
OrderedJson dry_run_json(const Recipe& recipe, const Beginning& beginning = {});

}  // namespace smelt::pipeline
