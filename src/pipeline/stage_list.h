// A recipe's stages as a list; for this room alone.
#pragma once

#include <functional>
#include <vector>

#include "pipeline/pipeline.h"
#include "pipeline/stage.h"

namespace smelt {

using Evaluated = std::function<void(const Evaluation&)>;
using Trained = std::function<void(const TrainSummary&)>;

// The stages in their order. UsageError where what they are made of is not there.
std::vector<Stage> stages_of(const Recipe& recipe, const Beginning& beginning,
                             const Evaluated& evaluated = {}, const Trained& trained = {});
// Those of them that all processes of a pod make together, with the devices of all.
std::vector<Stage> shared_stages(const Recipe& recipe, const Beginning& beginning,
                                 const Evaluated& evaluated, const Trained& trained);

// UsageError for a vocabulary and data that must not be replaced, as a model was begun with them.
void check_model_is_of(const Recipe& recipe, const std::vector<Stage>& stages,
                       const Beginning& beginning);

}  // namespace smelt
