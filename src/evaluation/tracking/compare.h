// Runs beside one another: which settings differ, and what they came to.
#pragma once

#include <string>
#include <vector>

#include "evaluation/tracking/run_record.h"

namespace smelt {

struct SettingRow {
  std::string name;          // "train.steps"
  std::vector<Json> values;  // of each run; null where it has none
  bool differs = false;
};
// By name, of all runs.
std::vector<SettingRow> setting_rows(const std::vector<RunRecord>& runs);

// The last figure of a name that a run has: of lines ("loss") and validation ("valid/loss").
struct FigureRow {
  std::string name;
  std::vector<std::optional<double>> values;
};
std::vector<FigureRow> final_figures(const std::vector<RunRecord>& runs);

// Whether the runs' vocabularies differ, as far as their records have them.
bool have_other_vocabularies(const std::vector<RunRecord>& runs);

// A table of the settings that differ and of the final figures, with a note if the vocabularies
// differ.
std::string compare_text(const std::vector<RunRecord>& runs);
Record compare_json(const std::vector<RunRecord>& runs);

}  // namespace smelt
