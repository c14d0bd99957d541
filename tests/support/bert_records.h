// Small TFRecord files of BERT examples, valid or deliberately invalid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/input_pipeline/batch.h"

namespace smelt {

// Returns one example with seq_length 8 and max_predictions 2, whose ids depend on `number`.
struct TestExample {
  explicit TestExample(int number);
  std::string serialized() const;

  std::vector<std::int32_t> input_ids, input_mask, segment_ids, masked_lm_positions, masked_lm_ids;
  std::vector<float> masked_lm_weights;
  std::vector<std::int32_t> next_sentence_labels;
};

// Writes the examples first, first+1, ...; `change` may modify each before it is written.
void write_test_examples(const std::string& path, int first, int count,
                         const std::function<void(int, TestExample&)>& change = {});

// Returns the seven features of these examples: ids below 100, 2 segments.
io::Features test_features();

// Returns all bytes of a batch.
std::vector<std::byte> values_of(const data::Batch& batch);

}  // namespace smelt
