// Models that were made of one another, held against the first on the same rows and side by side:
// what is smaller, what is faster, and what that costs. docs/guides/compress.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "evaluation/metrics/resample.h"
#include "pipeline/asked_rows.h"
#include "pipeline/compress_latency.h"

namespace smelt {

struct CompressReportJob {
  std::string base = {};
  std::vector<std::string> models = {};
  std::vector<std::string> students = {};  // dense ones of equal size, that cutting must beat
  AskedRows test = {};                     // what is reported
  std::string dev = {};                    // files of the same columns that models were chosen by
  std::vector<std::string> metrics = {};   // empty: the problem's
  LatencyJob latency = {};
  std::int64_t answer_tokens = 16;  // of a T5: of the answers that are timed
  std::int64_t batch_size = 32;     // of the rows
  std::string device = "cpu";
  // The program that loads a model in a process of its own (compress_latency.h); empty: memory and
  // time of loading are not measured.
  std::string smelt = {};
  std::string command = {};  // as it was given
  std::string version = {};  // of smelt
  ResampleOptions resample = {};
};

// What docs/guides/compress.md says of a report. UsageError for models that are no fine-tuned ones,
// of other problems or classes than the base, for two of one name, and for rows by which one was
// chosen.
OrderedJson compress_report(CompressReportJob job);

// A line for each model.
std::string compress_report_text(const OrderedJson& report);

}  // namespace smelt
