// A section of the report on compressed models: what remains of each model, layer by layer.
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"

namespace smelt::evaluation {

// Returns the HTML for the compression steps of one model, which are the field "steps" of the model
// in the report. Returns "" if there are no steps.
std::string compressed_layers_html(const Record& steps);

}  // namespace smelt::evaluation
