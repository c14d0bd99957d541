// Encodes a masked pair as a tf.Example in a TFRecord (docs/reference/formats/tfrecord.md), with
// the features of google-research/bert's create_pretraining_data.py in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/sentence_pairs.h"
#include "io/formats/example.h"

namespace smelt::data {

// Not thread-safe.
class BertEncoder {
 public:
  BertEncoder(const MaskVocabulary& vocabulary, const PairOptions& options);

  // Appends the record to `out`, with its header and footer.
  void append(const MaskedPair& pair, std::string& out);

 private:
  void fill(const MaskedPair& pair);

  std::int32_t cls_, sep_;
  std::size_t length_, predictions_;
  // Features of the current example; reused to avoid allocations.
  io::ExampleWriter example_;
  std::vector<std::int32_t> input_ids_, input_mask_, segment_ids_, positions_, labels_;
  std::vector<float> weights_;
};

}  // namespace smelt::data
