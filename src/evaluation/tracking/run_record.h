// A summary of a run's metrics.jsonl for status, comparison and report.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluation/tracking/metrics_file.h"

namespace smelt::evaluation {

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};
using Curve = std::vector<CurvePoint>;  // in ascending order of steps

struct RunRecord {
  std::string name;    // shortest end of the folder's path that differs from the other runs'
  std::string folder;  // folder of metrics.jsonl
  Record start;        // latest start record
  std::int64_t starts = 0;
  std::int64_t step = 0, of = 0;       // completed steps, planned steps
  double time = 0;                     // time of the latest record, seconds since 1970
  std::string last_kind;               // kind of the latest record
  std::optional<Record> line;          // latest log line
  std::optional<Record> end;           // end record, if it is the latest record
  std::optional<std::int64_t> saved;   // step of the latest saved checkpoint
  std::map<std::string, Curve> lines;  // training curves from log lines: "loss", "learning_rate", …
  std::map<std::string, Curve> train, valid;  // curves from evaluations
  std::vector<Record> filled;                 // records of filled masks
  std::vector<Record> evaluations;            // records of evaluations.jsonl, by step
  SpentTimes spent;
};

// Returns the folder with metrics.jsonl: `run`, or its subfolder `model` if `run` is a recipe's
// output folder. Throws UsageError if neither contains metrics.jsonl.
std::string run_folder(const std::string& run);
RunRecord read_run(const std::string& run);
// Reads several runs and gives them distinct names.
std::vector<RunRecord> read_runs(const std::vector<std::string>& runs);

// Returns the settings of a start record by dotted path: "train.steps". Settings of a recipe's
// unnamed section have no prefix.
std::map<std::string, Json> flat_settings(const Record& start);

// Returns the last value of a curve, or nullopt if the curve is missing or empty.
std::optional<double> final_value(const std::map<std::string, Curve>& curves,
                                  const std::string& name);

}  // namespace smelt::evaluation
