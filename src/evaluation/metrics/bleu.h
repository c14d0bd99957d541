// Corpus BLEU (Papineni et al. 2002) as sacrebleu 2 computes it by default: 13a tokenization,
// n-grams of up to 4 words, exponential smoothing (Chen and Cherry 2014, method 3), case-sensitive.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::evaluation {

// Splits a text into words as mteval-v13a does.
std::vector<std::string> words_13a(std::string_view text);

// N-gram counts; their sum over texts gives the corpus score.
struct BleuCounts {
  std::array<std::int64_t, 4> right{}, total{};  // matching and all n-grams, by n - 1
  std::int64_t predicted = 0, wanted = 0;        // numbers of words
  BleuCounts& operator+=(const BleuCounts& other);
};
// Returns the counts of one prediction; needs at least one reference. `wanted` is the length of the
// reference that is closest in length to the prediction; of two equally close ones, the shorter.
BleuCounts bleu_counts(std::string_view predicted, std::span<const std::string> references);
// Returns the score, in [0, 100].
double bleu(const BleuCounts& counts);

}  // namespace smelt::evaluation
