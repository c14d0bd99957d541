// BLEU (Papineni et al. 2002) of a corpus as sacrebleu 2 computes it by default: words of 13a, up
// to 4 in a run, exponential smoothing (Chen and Cherry 2014, method 3), case counts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// mteval-v13a's words of a text.
std::vector<std::string> words_13a(std::string_view text);

// Adds up over texts.
struct BleuCounts {
  std::array<std::int64_t, 4> right{}, total{};  // by length of the run, less 1
  std::int64_t predicted = 0, wanted = 0;        // words
  BleuCounts& operator+=(const BleuCounts& other);
};
// At least one reference. The length wanted is the nearest reference's, the shorter of two as near.
BleuCounts bleu_counts(std::string_view predicted, std::span<const std::string> references);
// In [0, 100].
double bleu(const BleuCounts& counts);

}  // namespace smelt
