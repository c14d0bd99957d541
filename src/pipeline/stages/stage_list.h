// The list of a recipe's stages. Internal to this module.
#pragma once

#include <functional>
#include <vector>

#include "pipeline/incremental/stage.h"
#include "pipeline/stages/pipeline.h"

namespace smelt::pipeline {

using Evaluated = std::function<void(const execution::Evaluation&)>;
using Trained = std::function<void(const train::TrainSummary&)>;

// Returns the stages in order. Throws UsageError if their inputs are missing.
std::vector<Stage> stages_of(const Recipe& recipe, const Beginning& beginning,
                             const Evaluated& evaluated = {}, const Trained& trained = {});
// Returns the stages that all processes of a multi-host run execute together, on all devices.
std::vector<Stage> shared_stages(const Recipe& recipe, const Beginning& beginning,
                                 const Evaluated& evaluated, const Trained& trained);

// Throws UsageError if text, vocabulary or data have changed since the model in the folder began
// training.
void check_model_is_of(const Recipe& recipe, const std::vector<Stage>& stages,
                       const Beginning& beginning);

}  // namespace smelt::pipeline
