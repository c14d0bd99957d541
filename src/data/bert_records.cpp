#include "data/bert_records.h"

#include <limits>

namespace smelt {

Features bert_features(BertShape shape, std::int64_t vocab_size) {
  constexpr std::int64_t kMostTypes = std::numeric_limits<std::int32_t>::max();
  const auto integers = [](std::string name, Dims row, std::int64_t limit, std::string limit_name) {
    return Feature{std::move(name), DType::s32, std::move(row), limit, std::move(limit_name)};
  };
  const Dims length{shape.seq_length}, predictions{shape.max_predictions};
  return {integers("input_ids", length, vocab_size, "vocab_size"),
          integers("input_mask", length, 2, "a mask of"),
          integers("segment_ids", length, kMostTypes, "type_vocab_size"),
          integers("masked_lm_positions", predictions, shape.seq_length, "seq_length"),
          integers("masked_lm_ids", predictions, vocab_size, "vocab_size"),
          {.name = "masked_lm_weights", .dtype = DType::f32, .row = predictions},
          integers("next_sentence_labels", {1}, 2, "labels of")};
}

BertRow::BertRow(const Batch& record)
    : input_ids(record.arrays[0].values<std::int32_t>()),
      input_mask(record.arrays[1].values<std::int32_t>()),
      segment_ids(record.arrays[2].values<std::int32_t>()),
      masked_lm_positions(record.arrays[3].values<std::int32_t>()),
      masked_lm_ids(record.arrays[4].values<std::int32_t>()),
      masked_lm_weights(record.arrays[5].values<float>()),
      next_sentence_label(record.arrays[6].values<std::int32_t>()[0]) {}

}  // namespace smelt
