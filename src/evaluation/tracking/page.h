// One self-contained page about runs: curves, goodput, evaluations, what a fine-tuned model says of
// held-out examples and where it is wrong, filled masks, rows and data, settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "evaluation/tracking/run_record.h"

namespace smelt {

// What every page begins with.
inline constexpr std::string_view kPageHead = "<!DOCTYPE html>\n";

// UsageError where `out` is a file that is no earlier page; `command` begins it.
void check_page_place(const std::string& command, const std::string& out);

// HTML of one file: nothing in it is fetched from elsewhere. The runs' curves lie over one another.
// `planned`: HTML of what was planned before, or nothing.
std::string runs_page(const std::vector<RunRecord>& runs, const std::string& planned = {});

}  // namespace smelt
