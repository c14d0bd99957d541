// Sections of the run report (evaluation/tracking/page.h) on predictions of fine-tuned models and
// on labelled rows.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/tracking/predictions.h"

namespace smelt::evaluation {

struct NamedFigures {
  std::string run;
  PredictionFigures figures;
};

// Returns a table with the metrics of all runs, and their mean and standard deviation if there are
// several; then for each run its confusion matrix, calibration and most confident mistakes. Empty
// without runs.
std::string predictions_html(const std::vector<NamedFigures>& runs);

// File in a run's folder with an overview of its rows, in the format of
// data/preprocess/row_overview.h.
inline constexpr const char* kRowOverviewFile = "overview.json";
std::string row_overview_html(const Json& overview);

}  // namespace smelt::evaluation
