#include "data/example_shards.h"

#include <array>
#include <utility>

#include "format/tfrecord.h"

namespace smelt {

ExampleShards::ExampleShards(const std::vector<std::string>& paths, const PairOptions& options)
    : options_(options) {
  files_.reserve(paths.size());
  for (const std::string& path : paths) files_.emplace_back(path);
}

void ExampleShards::fill(const SentencePairs& pairs, const SentencePair& pair) {
  const auto length = static_cast<std::size_t>(options_.seq_length);
  const auto predictions = static_cast<std::size_t>(options_.max_predictions);
  pairs.tokens(pair, input_ids_);
  input_mask_.assign(input_ids_.size(), 1);
  segment_ids_.assign(pair.a.size() + 2, 0);
  segment_ids_.resize(input_ids_.size(), 1);
  positions_.clear();
  labels_.clear();
  for (const Mask& mask : pairs.masks(pair)) {
    positions_.push_back(static_cast<std::int32_t>(mask.position));
    labels_.push_back(std::exchange(input_ids_[mask.position], mask.replacement));
  }
  weights_.assign(positions_.size(), 1);
  for (auto* values : {&input_ids_, &input_mask_, &segment_ids_}) values->resize(length);
  for (auto* values : {&positions_, &labels_}) values->resize(predictions);
  weights_.resize(predictions);
}

void ExampleShards::write(const SentencePairs& pairs, const SentencePair& pair) {
  fill(pairs, pair);
  // The order of the original program's features.
  example_.integers("input_ids", input_ids_);
  example_.integers("input_mask", input_mask_);
  example_.integers("segment_ids", segment_ids_);
  example_.integers("masked_lm_positions", positions_);
  example_.integers("masked_lm_ids", labels_);
  example_.reals("masked_lm_weights", weights_);
  example_.integers("next_sentence_labels", std::array{pair.random_next ? 1 : 0});
  record_.clear();
  append_record(record_, example_.take());
  files_[written_++ % files_.size()].write(record_);
}

void ExampleShards::commit() {
  for (OutputFile& file : files_) file.commit();
}

}  // namespace smelt
