// Comparison of compressed models with the model they were made from, on the same rows: size,
// latency and quality (docs/guides/compress.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/resample.h"
#include "pipeline/compression/asked_rows.h"
#include "pipeline/compression/compress_latency.h"

namespace smelt::pipeline {

struct CompressReportJob {
  std::string base = {};
  std::vector<std::string> models = {};
  // Dense models of the same size, as baselines for pruned models.
  std::vector<std::string> students = {};
  RowsToPredict test = {};  // rows for the reported scores
  // Files of development rows, which were used to choose models, with the same columns as `test`.
  // Empty: none.
  std::string dev = {};
  std::vector<std::string> metrics = {};  // empty: the default metrics of the problem
  LatencyJob latency = {};
  std::int64_t answer_tokens = 16;  // T5: answer length in latency measurements
  std::int64_t batch_size = 32;     // rows per batch
  std::string device = "cpu";
  // Path of the smelt program, which loads each model in a separate process (compress_latency.h).
  // Empty: memory and loading time are not measured.
  std::string smelt = {};
  std::string command = {};  // the user's command line
  std::string version = {};  // version of smelt
  evaluation::ResampleOptions resample = {};
};

// Returns the report (docs/guides/compress.md). Throws UsageError if a model is not fine-tuned or
// has another problem or other classes than the base, if a path occurs twice, or if the test rows
// were used to choose or calibrate a model. Logs a warning if test rows are also in `dev`.
OrderedJson compress_report(CompressReportJob job);

// Returns one line for each model.
std::string compress_report_text(const OrderedJson& report);

}  // namespace smelt::pipeline
