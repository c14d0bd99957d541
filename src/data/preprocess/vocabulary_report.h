// Measures how well a vocabulary fits a text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizers/script_counts.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/word_counts.h"

namespace smelt::data {

struct VocabularyReport {
  std::string vocabulary;
  std::int64_t size = 0;
  std::int64_t used = 0;   // distinct pieces that occur in the text
  std::int64_t words = 0;  // words, separated by white space
  std::int64_t pieces = 0, unknown = 0;
  std::int64_t whole_words = 0;  // words that are one known piece
  std::vector<text::ScriptCount> scripts;
};

VocabularyReport report_vocabulary(const std::string& path, const text::Tokenizer& tokenizer,
                                   const text::WordCounts& words);

// Counts the words, separated by white space.
text::WordCounts words_of_report(const text::LinesOptions& text, int threads);

}  // namespace smelt::data
