// What is said of BERT's pre-training examples (docs/reference/formats/tfrecord.md) beyond their
// features: how long they are, what is masked and how.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/input_pipeline/record_kind.h"

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

// What stands at the places of the predictions. A random token that happens to be the right one
// counts as kept.
struct MaskCounts {
  std::uint64_t masked = 0, kept = 0, random = 0;
};

struct BertStatistics : KindStatistics {
  explicit BertStatistics(BertShape shape);
  void add(const Batch& record, SpecialIds ids) override;
  void add(const KindStatistics& others) override;
  DescribedFigures settings() const override;
  DescribedFigures counts() const override;

  BertShape shape;
  std::uint64_t tokens = 0;       // not padding
  std::uint64_t predictions = 0;  // with a weight above 0
  std::uint64_t random_next = 0;  // records whose B does not follow A
  std::int32_t largest_id = 0;
  std::vector<std::uint64_t> lengths;         // [n]: how many examples have n tokens
  std::vector<std::uint64_t> mask_positions;  // [n]: how many examples have n predictions
  MaskCounts masks;                           // with the id of [MASK]
  std::uint64_t unknown = 0;                  // tokens that are [UNK], with its id
};

// Of BERT; its statistics are BertStatistics.
std::optional<RecordKind> find_bert_records(const std::vector<ExampleFeature>& features,
                                            std::int64_t id_limit);

}  // namespace smelt
