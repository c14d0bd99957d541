// The HTML report on compressed models, made from their JSON report
// (docs/reference/formats/compressed.md, "Reports").
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"

namespace smelt::evaluation {

// Returns a self-contained HTML page, which loads nothing from elsewhere.
std::string compress_page(const Record& report);

}  // namespace smelt::evaluation
