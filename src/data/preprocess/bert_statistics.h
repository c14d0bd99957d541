// Statistics of BERT's pre-training examples (docs/reference/formats/tfrecord.md) beyond those of
// their features: lengths and masking.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/input_pipeline/record_kind.h"

namespace smelt::data {

struct BertShape {
  std::int64_t seq_length = 0, max_predictions = 0;
};

// Returns the seven features, in the order of BertRow. Ids that are not less than `vocab_size` are
// rejected.
io::Features bert_features(BertShape shape, std::int64_t vocab_size);

// Views of the seven features in a batch of one BERT record.
struct BertRow {
  explicit BertRow(const Batch& record);

  std::span<const std::int32_t> input_ids, input_mask, segment_ids, masked_lm_positions,
      masked_lm_ids;
  std::span<const float> masked_lm_weights;
  std::int32_t next_sentence_label;
};

// Counts of what replaced the masked tokens. A random token that equals the original one counts as
// kept.
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
  std::uint64_t predictions = 0;  // predictions with a weight above 0
  std::uint64_t random_next = 0;  // records in which B does not follow A
  std::int32_t largest_id = 0;
  std::vector<std::uint64_t> lengths;         // [n]: number of examples with n tokens
  std::vector<std::uint64_t> mask_positions;  // [n]: number of examples with n predictions
  MaskCounts masks;                           // if the id of [MASK] is known
  std::uint64_t unknown = 0;                  // [UNK] tokens, if its id is known
};

// Returns the record kind if the features are those of BERT. Its statistics are BertStatistics.
std::optional<RecordKind> find_bert_records(const std::vector<io::ExampleFeature>& features,
                                            std::int64_t id_limit);

}  // namespace smelt::data
