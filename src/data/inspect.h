// What is in TFRecord files of BERT examples, and whether all of it can be trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/bert_records.h"

namespace smelt {

struct InspectOptions {
  std::string input;       // comma list of files and patterns
  std::string vocab = {};  // file; without it masks cannot be told from other tokens
  std::optional<std::int64_t> vocab_size =
      {};                    // ids from this number on are refused; default: the vocabulary's size
  std::int64_t samples = 0;  // examples to keep, evenly spread over all
  int threads = 0;           // 0: all cores
};

// What stands at the places of the predictions. A random token that happens to be the right one
// counts as kept.
struct MaskCounts {
  std::uint64_t masked = 0, kept = 0, random = 0;
};

struct BadRecord {
  std::string file;
  std::uint64_t record = 0, offset = 0;  // within the file, of its first byte
  std::string fault;
};

struct RecordSample {
  std::string place;
  Batch example;  // of one row, BertRow's
};

struct RecordStatistics {
  std::uint64_t files = 0, records = 0, bytes = 0;
  BertShape shape;
  std::uint64_t tokens = 0;       // not padding
  std::uint64_t predictions = 0;  // with a weight above 0
  std::uint64_t random_next = 0;  // records whose B does not follow A
  std::int32_t largest_id = 0;
  std::vector<std::uint64_t> lengths;         // [n]: how many examples have n tokens
  std::vector<std::uint64_t> mask_positions;  // [n]: how many examples have n predictions
  std::optional<MaskCounts> masks;            // with a vocabulary
  std::optional<std::uint64_t> unknown;       // tokens that are [UNK], with a vocabulary
  std::uint64_t bad_records = 0;              // counted nowhere else
  std::optional<BadRecord> first_bad;
  std::string description;                  // file beside the records; empty when there is none
  std::vector<std::string> contradictions;  // between description, vocabulary and records
  std::vector<RecordSample> samples;
};

// Reads every record. A fault of a record's content or checksum is counted; one of a file's framing
// (length checksum, cut) is a UsageError.
RecordStatistics inspect_bert_records(const InspectOptions& options);

}  // namespace smelt
