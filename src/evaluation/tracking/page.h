// The HTML report on runs. It has sections for curves, goodput, evaluations, predictions on
// held-out examples and their mistakes, filled masks, labelled rows, data and settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluation/tracking/run_record.h"

namespace smelt::evaluation {

// The first line of every page.
inline constexpr std::string_view kPageHead = "<!DOCTYPE html>\n";

// Throws UsageError, whose message begins with `command`, if `out` is a file that is not an earlier
// report.
void check_page_place(const std::string& command, const std::string& out);

// Returns a self-contained HTML page, which loads nothing from elsewhere. Curves of the same metric
// share a chart. `planned` is HTML about the plan of the run, or empty.
std::string runs_page(const std::vector<RunRecord>& runs, const std::string& planned = {});

}  // namespace smelt::evaluation
