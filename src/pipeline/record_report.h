// What `data inspect` says of records of one kind, beyond their features.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "data/input_pipeline/record_kind.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// The statistics are those of the kind that `find` has found.
struct RecordReport {
  FindRecordKind find = nullptr;  // none: of its features nothing more is said
  std::function<void(const KindStatistics&, SpecialIds, OrderedJson& out)> put_json;
  // Lines before and behind what is said of all records; `good` of them were counted.
  std::function<std::string(const KindStatistics&, SpecialIds, std::uint64_t good)> summary;
  std::function<std::string(const KindStatistics&)> histograms;
  // A sample, and the line that explains the marks in all of them; `colour` for a terminal.
  std::function<std::string(const std::string& place, const Batch& row, const Vocabulary*,
                            bool colour)>
      sample;
  std::function<std::string(bool colour)> legend;
};

}  // namespace smelt
