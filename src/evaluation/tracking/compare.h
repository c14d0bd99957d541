// Comparison of runs: settings that differ, and final metrics.
#pragma once

#include <string>
#include <vector>

#include "evaluation/tracking/run_record.h"

namespace smelt::evaluation {

struct SettingRow {
  std::string name;          // "train.steps"
  std::vector<Json> values;  // one per run; null if the run does not have the setting
  bool differs = false;
};
// Returns the settings of all runs, sorted by name.
std::vector<SettingRow> setting_rows(const std::vector<RunRecord>& runs);

// The last value of a metric in each run, such as "loss" of the log lines or "valid/loss" of
// evaluations.
struct FigureRow {
  std::string name;
  std::vector<std::optional<double>> values;
};
std::vector<FigureRow> final_figures(const std::vector<RunRecord>& runs);

// Returns whether the runs have different vocabularies, as far as their records contain them.
bool differ_in_vocabulary(const std::vector<RunRecord>& runs);

// Returns a table of differing settings and final metrics, with a note if the vocabularies differ.
std::string compare_text(const std::vector<RunRecord>& runs);
Record compare_json(const std::vector<RunRecord>& runs);

}  // namespace smelt::evaluation
