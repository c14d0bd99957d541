// Trains byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): repeatedly merges the most
// frequent pair of adjacent pieces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace smelt::text {

struct BpeTrainerOptions {
  std::int64_t vocab_size = 30522;
  std::int64_t min_frequency = 2;  // rarer pairs are not merged
};

struct TrainedBpe {
  std::vector<std::string> pieces;                            // raw bytes, by id
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // ids of both pieces, best first
};

// Trains a vocabulary and returns its pieces and merges. The tokens in `first` get the lowest ids;
// if a merged piece has the text of one of them, it is that token. The 256 bytes follow, in the
// order of the characters that represent them, then the merged pieces. Between equally frequent
// pairs the one with the smaller ids is merged, so that the result equals that of Hugging Face's
// BpeTrainer for the same words. There are fewer than vocab_size pieces if no pair is frequent
// enough. Throws UsageError if vocab_size has no room for `first` and the bytes.
TrainedBpe train_byte_bpe(const std::map<std::string, std::int64_t>& word_counts,
                          const std::vector<std::string>& first, const BpeTrainerOptions& options);

}  // namespace smelt::text
