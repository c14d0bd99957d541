// Report of `smelt data inspect` on one kind of records, in addition to their features.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "data/input_pipeline/record_kind.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// Functions that format the statistics which `find` computes.
struct RecordReport {
  FindRecordKind find = nullptr;  // null: no report
  std::function<void(const KindStatistics&, SpecialIds, OrderedJson& out)> put_json;
  // Returns lines to print before and after the general report; `good` is the number of valid
  // records.
  std::function<std::string(const KindStatistics&, SpecialIds, std::uint64_t good)> summary;
  std::function<std::string(const KindStatistics&)> histograms;
  // Format a sample, and the line that explains the marks in all samples; `colour` is for a
  // terminal.
  std::function<std::string(const std::string& place, const Batch& row, const Vocabulary*,
                            bool colour)>
      sample;
  std::function<std::string(bool colour)> legend;
};

}  // namespace smelt
