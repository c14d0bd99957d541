// Records of one kind, of which there is more to count than what stands in their features.
// data/input_pipeline/inspect.h knows none; an objective brings its own.
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

namespace smelt {

// The ids of a vocabulary that are counted; -1: none.
struct SpecialIds {
  std::int32_t mask = -1, unknown = -1;
};

// By the names that a description has for them (docs/reference/formats/description.md).
using DescribedFigures = std::vector<std::pair<std::string, Json>>;

class KindStatistics {
 public:
  virtual ~KindStatistics() = default;
  // A batch of one record, of the kind's features.
  virtual void add(const Batch& record, SpecialIds ids) = 0;
  // Of the same kind.
  virtual void add(const KindStatistics& others) = 0;
  virtual DescribedFigures settings() const = 0;  // of each record: {"seq_length", 128}
  virtual DescribedFigures counts() const = 0;    // of all records: {"masked_tokens", 6}
};

struct RecordKind {
  Features features;
  bool has_masks = false;  // then a vocabulary must have [MASK]
  std::function<std::unique_ptr<KindStatistics>()> statistics;
};

// Of records with these features, of which ids from the limit on are refused; nothing when they are
// of another kind.
using FindRecordKind = std::optional<RecordKind> (*)(const std::vector<ExampleFeature>& features,
                                                     std::int64_t id_limit);

}  // namespace smelt
