// Trains byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): the most frequent pair of
// neighbouring pieces is merged, again and again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace smelt {

struct BpeTrainerOptions {
  std::int64_t vocab_size = 30522;
  std::int64_t min_frequency = 2;  // a rarer pair is not merged
};

struct TrainedBpe {
  std::vector<std::string> pieces;                            // raw bytes, by id
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // ids of both pieces, best first
};

// `first` are the tokens with the lowest ids; merges that give the text of one give that token. All
// 256 bytes follow, in the order of the characters that stand for them, then the merged pieces. Of
// equally frequent pairs the one with the smaller ids is merged, as Hugging Face's BpeTrainer does:
// pieces and merges are the same for the same words. Fewer pieces than vocab_size if no pair is
// frequent enough. Throws UsageError if vocab_size has no room for `first` and the bytes.
TrainedBpe train_byte_bpe(const std::map<std::string, std::int64_t>& word_counts,
                          const std::vector<std::string>& first, const BpeTrainerOptions& options);

}  // namespace smelt
