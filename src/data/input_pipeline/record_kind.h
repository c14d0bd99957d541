// A kind of records with statistics beyond those of their features. Training objectives define the
// kinds; callers pass them to inspect_records() (data/input_pipeline/inspect.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "io/formats/example.h"

namespace smelt::data {

// The ids of special tokens whose occurrences are counted; -1 if the vocabulary lacks the token.
struct SpecialIds {
  std::int32_t mask = -1, unknown = -1;
};

// Pairs of a field name in a description and its value (docs/reference/formats/description.md).
using DescribedFigures = std::vector<std::pair<std::string, Json>>;

class KindStatistics {
 public:
  virtual ~KindStatistics() = default;
  // Adds a batch of one record with the kind's features.
  virtual void add(const Batch& record, SpecialIds ids) = 0;
  // Adds the statistics of other records of the same kind.
  virtual void add(const KindStatistics& others) = 0;
  virtual DescribedFigures settings() const = 0;  // equal for all records: {"seq_length", 128}
  virtual DescribedFigures counts() const = 0;    // totals of all records: {"masked_tokens", 6}
};

struct RecordKind {
  io::Features features;
  bool has_masks = false;  // whether the records have masks, so that a vocabulary must have [MASK]
  std::function<std::unique_ptr<KindStatistics>()> statistics;
};

// Returns the kind if the records have its features, nullopt otherwise. Ids that are not less than
// the limit are rejected.
using FindRecordKind = std::optional<RecordKind> (*)(
    const std::vector<io::ExampleFeature>& features, std::int64_t id_limit);

}  // namespace smelt::data
