// What stripping accents costs in a text: words that it changes, and words that it makes equal to
// other words, as in Vietnamese (ban), Hindi or Arabic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/word_counts.h"

namespace smelt {

struct MergedWords {
  std::uint64_t words = 0;            // running words
  std::uint64_t changed = 0;          // of them, those that stripping changes
  std::uint64_t merged = 0;           // those that it makes equal to another word of the text
  std::vector<std::string> examples;  // the most frequent groups of merged words: "bàn, bán, bạn"
};

// Counts over the text's first 16 MiB. Words that differ by case alone count as one if the options
// lower-case. All counts are 0 if the options do not strip accents.
MergedWords count_merged_words(const LinesOptions& text, const TokenizerOptions& options);

// Logs the text's scripts and what happens to case and accents. Warns if stripping accents merges
// more than 0.5 % of the words or changes more than 20 %, and if Turkish text is lower-cased by the
// rules of other languages.
void log_normalization(const LinesOptions& text, const TokenizerOptions& options);

}  // namespace smelt
