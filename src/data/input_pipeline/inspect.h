// Summarizes TFRecord files of tf.Examples and checks that they can be trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/input_pipeline/feature_statistics.h"
#include "data/input_pipeline/record_kind.h"

namespace smelt::data {

inline constexpr std::string_view kTokenIds = "input_ids";

struct InspectOptions {
  std::string input;  // comma-separated files and patterns
  // For examples with the feature kTokenIds: `vocab` is a vocabulary file, which is needed to count
  // masks. `vocab_size` is the number of valid ids, by default the vocabulary's size; records with
  // other ids are bad.
  std::string vocab = {};
  std::optional<std::int64_t> vocab_size = {};
  std::int64_t samples = 0;  // evenly spaced examples to return
  int threads = 0;           // 0: all cores
  std::vector<FindRecordKind> kinds = {};
};

struct BadRecord {
  std::string file;
  std::uint64_t record = 0, offset = 0;  // record number in the file, and offset of its first byte
  std::string fault;
};

struct RecordSample {
  std::string place;
  io::Example example;
  std::optional<Batch> row;  // the example as a batch of one row, if the kind is known
};

struct RecordStatistics {
  std::uint64_t files = 0, records = 0, bytes = 0;
  std::vector<FeatureStatistics> features;  // features of the first record, in its order
  std::shared_ptr<KindStatistics> kind;     // null unless the records are of a known kind
  std::size_t kind_number = 0;              // index of `kind` in the list of known kinds
  SpecialIds ids;                           // ids that were counted
  std::uint64_t bad_records = 0;            // not included in other counts
  std::optional<BadRecord> first_bad;
  std::string description;  // the description file; empty if not found
  // differences between description, vocabulary and records
  std::vector<std::string> contradictions;
  std::vector<RecordSample> samples;
};

// Reads every record. A record is bad if its checksum is wrong, its features or their lengths
// differ from the first record's, or an id is out of range. Throws UsageError for a framing error
// (wrong length checksum, truncated file), and if a vocabulary is given but the records have no
// ids.
RecordStatistics inspect_records(const InspectOptions& options);

}  // namespace smelt::data
