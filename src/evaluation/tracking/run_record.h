// What a run's metrics.jsonl says, put together for who looks at it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/tracking/metrics_file.h"

namespace smelt {

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;  // steps ascend

struct RunRecord {
  std::string name;    // the last parts of the folder's path that tell it from others
  std::string folder;  // that holds metrics.jsonl
  Record start;        // the newest
  std::int64_t starts = 0;
  std::int64_t step = 0, of = 0;  // done, to be done
  double time = 0;                // of the newest record, seconds since 1970
  std::string last_kind;          // of the newest record: what was said last
  std::optional<Record> line;     // the newest
  std::optional<Record> end;      // where it is the newest record
  std::optional<std::int64_t> saved;
  std::map<std::string, Curve> lines;         // "loss", "learning_rate", …: of the lines
  std::map<std::string, Curve> train, valid;  // of the checks
  std::vector<Record> filled;                 // masks filled over time
  std::vector<Record> evaluations;            // evaluations.jsonl beside it, by step
  SpentTimes spent;
};

// RUN: a recipe's folder, or the model's folder in it. UsageError where there is no metrics.jsonl.
std::string run_folder(const std::string& run);
RunRecord read_run(const std::string& run);
// With names that tell them apart.
std::vector<RunRecord> read_runs(const std::vector<std::string>& runs);

// Settings by dotted path: "train.steps". Of a recipe's unnamed section without one.
std::map<std::string, Json> flat_settings(const Record& start);

// What a curve ends with.
std::optional<double> final_value(const std::map<std::string, Curve>& curves,
                                  const std::string& name);

}  // namespace smelt
