// A section of the page of compressed models: what is left of each, layer by layer.
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"

namespace smelt {

// Of one model's "steps"; empty where it has none.
std::string compressed_layers_html(const Record& steps);

}  // namespace smelt
