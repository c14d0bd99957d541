// Report of `smelt data inspect` on one kind of records, in addition to their features.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "data/input_pipeline/record_kind.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {

// Functions that format the statistics which `find` computes.
struct RecordReport {
  data::FindRecordKind find = nullptr;  // null: no report
  std::function<void(const data::KindStatistics&, data::SpecialIds, OrderedJson& out)> put_json;
  // Returns lines to print before and after the general report; `good` is the number of valid
  // records.
  std::function<std::string(const data::KindStatistics&, data::SpecialIds, std::uint64_t good)>
      summary;
  std::function<std::string(const data::KindStatistics&)> histograms;
  // `sample` formats one record; `place` is its location. `legend` returns the line that explains
  // the marks in samples. `colour`: whether to use terminal colours.
  std::function<std::string(const std::string& place, const data::Batch& row,
                            const text::Vocabulary*, bool colour)>
      sample;
  std::function<std::string(bool colour)> legend;
};

}  // namespace smelt::pipeline
