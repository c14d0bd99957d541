// Sections of the page of runs (evaluation/tracking/page.h) about what fine-tuned models say, and
// about the labelled rows that they learn from.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/tracking/predictions.h"

namespace smelt {

struct NamedFigures {
  std::string run;
  PredictionFigures figures;
};

// The scores of all runs in one table, of several their mean and spread; then for each run its
// confusion, its calibration and its surest mistakes. Empty without runs.
std::string predictions_html(const std::vector<NamedFigures>& runs);

// In the folder of a run: an overview of its rows as data/preprocess/row_overview.h has it.
inline constexpr const char* kRowOverviewFile = "overview.json";
std::string row_overview_html(const Json& overview);

}  // namespace smelt
