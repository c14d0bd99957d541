// Adds new words in place of a vocabulary's unused tokens. All other ids are kept, so a model
// trained with it still fits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/word_counts.h"

namespace smelt::data {

struct ExtendJob {
  text::LinesOptions text;
  std::string vocab, out;
  std::int64_t count = 0;          // words to add; 0: as many as there are unused tokens
  std::int64_t min_frequency = 5;  // rarer words are not added
  text::TokenizerFlags tokenizer;
  std::int64_t threads = 0;  // 0: one per core
  bool overwrite = false;
};

struct ExtendSummary {
  std::int64_t unused = 0;  // [unusedN] or [UNUSED_N] tokens in the original vocabulary
  std::vector<std::pair<std::string, std::int64_t>>
      added;  // words and the number of pieces each saves in the text
  std::int64_t pieces_before = 0, pieces_after = 0;    // number of pieces of the whole text
  std::int64_t unknown_before = 0, unknown_after = 0;  // words that are [UNK]
};

// Adds the words that save most: frequency times (pieces - 1), where an unknown word counts as two
// pieces. Throws UsageError if there are fewer unused tokens than `count`, no word would save a
// piece, or the output exists.
ExtendSummary extend_vocabulary(const ExtendJob& job);

}  // namespace smelt::data
