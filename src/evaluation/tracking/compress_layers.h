// A section of the report on compressed models: what remains of each model, layer by layer.
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"

namespace smelt::evaluation {

// Returns the HTML for one model's "steps"; empty without steps.
std::string compressed_layers_html(const Record& steps);

}  // namespace smelt::evaluation
