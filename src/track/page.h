// One self-contained page about runs: curves, goodput, evaluations, filled masks, data, settings.
#pragma once

#include <string>
#include <vector>

#include "track/run_record.h"

namespace smelt {

// HTML of one file: nothing in it is fetched from elsewhere. The runs' curves lie over one another.
std::string runs_page(const std::vector<RunRecord>& runs);

}  // namespace smelt
