// What is in TFRecord files of BERT examples, and whether all of it can be trained on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/record_source.h"

namespace smelt {

struct RecordStatistics {
  std::uint64_t files = 0, records = 0, bytes = 0;
  BertRecordShape shape;
  std::uint64_t tokens = 0;        // not padding
  std::uint64_t predictions = 0;   // with a weight above 0
  std::uint64_t random_next = 0;   // records whose B does not follow A
  std::int32_t largest_id = 0;
  std::uint64_t bad_records = 0;
  std::string first_fault;         // the message for the first bad record
};

// Reads every record. `vocab_size` refuses ids beyond it; without it any id is right. A fault of a record's
// content is counted; one of a file's framing (length checksum, cut) is a UsageError.
RecordStatistics inspect_bert_records(const std::string& patterns,
                                      std::optional<std::int64_t> vocab_size);

}  // namespace smelt
