// A page about compressed models, of what their report holds (docs/reference/formats/compressed.md,
// "Reports").
#pragma once

#include <string>

#include "evaluation/tracking/metrics_file.h"

namespace smelt {

// HTML of one file: nothing in it is fetched from elsewhere.
std::string compress_page(const Record& report);

}  // namespace smelt
