// BERT's pre-training examples as records (docs/formats/tfrecord.md), for what is said of them
// beyond their features: how long they are, what is masked and how.
#pragma once

#include <cstdint>
#include <span>

#include "data/batch.h"

namespace smelt {

struct BertShape {
  std::int64_t seq_length = 0, max_predictions = 0;
};

// The seven features, in the order of BertRow; ids from `vocab_size` on are refused.
Features bert_features(BertShape shape, std::int64_t vocab_size);

// Views into a batch of one such record.
struct BertRow {
  explicit BertRow(const Batch& record);

  std::span<const std::int32_t> input_ids, input_mask, segment_ids, masked_lm_positions,
      masked_lm_ids;
  std::span<const float> masked_lm_weights;
  std::int32_t next_sentence_label;
};

}  // namespace smelt
