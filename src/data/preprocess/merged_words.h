// Measures what stripping accents does to a text: how many words it changes, and how many it makes
// equal to other words, as in Vietnamese (ban), Hindi or Arabic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/word_counts.h"

namespace smelt::data {

struct MergedWords {
  std::uint64_t words = 0;            // word occurrences
  std::uint64_t changed = 0;          // of these, words changed by stripping
  std::uint64_t merged = 0;           // of these, words made equal to another word of the text
  std::vector<std::string> examples;  // most frequent groups of merged words: "bàn, bán, bạn"
};

// Counts over the first 16 MiB of the text. If the options lower-case, words that differ only in
// case are the same word. All counts are 0 if the options do not strip accents.
MergedWords count_merged_words(const text::LinesOptions& text,
                               const text::TokenizerOptions& options);

// Logs the text's scripts and how case and accents are handled. Logs a warning if stripping accents
// merges more than 0.5 % of the words or changes more than 20 %, or if Turkish text is lower-cased
// by the rules of other languages.
void log_normalization(const text::LinesOptions& text, const text::TokenizerOptions& options);

}  // namespace smelt::data
