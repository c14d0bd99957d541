#include "data/preprocess/bert_encoder.h"

#include <array>
#include <utility>

#include "io/formats/tfrecord.h"

namespace smelt::data {

BertEncoder::BertEncoder(const MaskVocabulary& vocabulary, const PairOptions& options)
    : cls_(vocabulary.cls),
      sep_(vocabulary.sep),
      length_(static_cast<std::size_t>(options.seq_length)),
      predictions_(static_cast<std::size_t>(options.max_predictions)) {}

void BertEncoder::fill(const MaskedPair& pair) {
  input_ids_.assign(1, cls_);
  input_ids_.insert(input_ids_.end(), pair.a.begin(), pair.a.end());
  input_ids_.push_back(sep_);
  segment_ids_.assign(input_ids_.size(), 0);
  if (!pair.b.empty()) {
    input_ids_.insert(input_ids_.end(), pair.b.begin(), pair.b.end());
    input_ids_.push_back(sep_);
    segment_ids_.resize(input_ids_.size(), 1);
  }
  input_mask_.assign(input_ids_.size(), 1);
  positions_.clear();
  labels_.clear();
  for (const Mask& mask : pair.masks) {
    positions_.push_back(static_cast<std::int32_t>(mask.position));
    labels_.push_back(std::exchange(input_ids_[mask.position], mask.replacement));
  }
  weights_.assign(positions_.size(), 1);
  for (auto* values : {&input_ids_, &input_mask_, &segment_ids_}) values->resize(length_);
  for (auto* values : {&positions_, &labels_}) values->resize(predictions_);
  weights_.resize(predictions_);
}

void BertEncoder::append(const MaskedPair& pair, std::string& out) {
  fill(pair);
  example_.integers("input_ids", input_ids_);
  example_.integers("input_mask", input_mask_);
  example_.integers("segment_ids", segment_ids_);
  example_.integers("masked_lm_positions", positions_);
  example_.integers("masked_lm_ids", labels_);
  example_.reals("masked_lm_weights", weights_);
  example_.integers("next_sentence_labels", std::array{pair.random_next ? 1 : 0});
  io::append_record(out, example_.take());
}

}  // namespace smelt::data
