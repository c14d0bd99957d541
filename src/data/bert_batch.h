// A batch of BERT pre-training examples, and how it is filled from records
// (docs/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/record_index.h"

namespace smelt {

// Row-major. L = seq_length, P = max_predictions; the features as docs/formats/tfrecord.md has
// them.
struct BertBatch {
  std::int64_t batch = 0, seq_length = 0, max_predictions = 0;
  std::vector<std::int32_t> input_ids, input_mask, segment_ids;  // [batch, L]
  std::vector<std::int32_t> masked_lm_positions, masked_lm_ids;  // [batch, P]
  std::vector<float> masked_lm_weights;                          // [batch, P]
  std::vector<std::int32_t> next_sentence_labels;                // [batch]
};

struct BertRecordOptions {
  std::string input;              // comma list of files and patterns
  std::int64_t seq_length = 128;  // of the records; another one is refused
  std::int64_t max_predictions = 20;
  std::int64_t vocab_size = 30522;  // ids beyond are refused
  std::int64_t type_vocab_size = 2;
  std::uint64_t seed = 12345;  // of the shuffle
};

// Lengths of the examples in the files, read from the first record.
struct BertRecordShape {
  std::int64_t seq_length = 0, max_predictions = 0;
};
BertRecordShape bert_record_shape(const RecordIndex& index);

// All zeros.
BertBatch empty_bert_batch(const BertRecordOptions& options, std::int64_t batch);

// Writes one example into a row of a batch. UsageError naming file, record and feature for values
// that the options do not allow; `index` and `record` tell where `data` comes from.
void put_bert_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                     const BertRecordOptions& options, BertBatch& batch, std::size_t row);

}  // namespace smelt
