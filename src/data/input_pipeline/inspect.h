// What is in TFRecord files of tf.Examples, and whether all of it can be trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/input_pipeline/feature_statistics.h"
#include "data/input_pipeline/record_kind.h"

namespace smelt {

inline constexpr std::string_view kTokenIds = "input_ids";

struct InspectOptions {
  std::string input;  // comma list of files and patterns
  // Of examples with the feature kTokenIds: a file, without which masks cannot be told from other
  // tokens; ids from this number on are refused, by default the vocabulary's size.
  std::string vocab = {};
  std::optional<std::int64_t> vocab_size = {};
  std::int64_t samples = 0;  // examples to keep, evenly spread over all
  int threads = 0;           // 0: all cores
  std::vector<FindRecordKind> kinds = {};
};

struct BadRecord {
  std::string file;
  std::uint64_t record = 0, offset = 0;  // within the file, of its first byte
  std::string fault;
};

struct RecordSample {
  std::string place;
  Example example;
  std::optional<Batch> row;  // of one row, of the kind's features
};

struct RecordStatistics {
  std::uint64_t files = 0, records = 0, bytes = 0;
  std::vector<FeatureStatistics> features;  // that the first record has, in its order
  std::shared_ptr<KindStatistics> kind;     // when they are of one of the kinds
  std::size_t kind_number = 0;              // of them
  SpecialIds ids;                           // that were counted
  std::uint64_t bad_records = 0;            // counted nowhere else
  std::optional<BadRecord> first_bad;
  std::string description;                  // file beside the records; empty when there is none
  std::vector<std::string> contradictions;  // between description, vocabulary and records
  std::vector<RecordSample> samples;
};

// Reads every record. One that has not the first one's features, as many numbers in each, or ids
// out of range, or a wrong checksum, is counted as bad; a fault of a file's framing (length
// checksum, cut) is a UsageError, and so is a vocabulary for records
// without ids.
RecordStatistics inspect_records(const InspectOptions& options);

}  // namespace smelt
