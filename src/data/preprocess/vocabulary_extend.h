// New words in the unused places of a vocabulary: every other id stays, so a model trained with it
// still fits.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/word_counts.h"

namespace smelt {

struct ExtendJob {
  LinesOptions text;
  std::string vocab, out;
  std::int64_t count = 0;          // words to add; 0: as many as there are unused places
  std::int64_t min_frequency = 5;  // a rarer word is not added
  TokenizerFlags tokenizer;
  std::int64_t threads = 0;  // 0: as many as there are cores
  bool overwrite = false;
};

struct ExtendSummary {
  std::int64_t unused = 0;  // [unusedN] or [UNUSED_N] tokens before
  std::vector<std::pair<std::string, std::int64_t>>
      added;  // words and how many pieces of the text each saves
  std::int64_t pieces_before = 0, pieces_after = 0;    // of the whole text
  std::int64_t unknown_before = 0, unknown_after = 0;  // words that are [UNK]
};

// Adds the words that save most: frequency times (pieces - 1), an unknown word counting as two
// pieces. UsageError when there are fewer unused places than `count`, no word to add, or an output
// that exists.
ExtendSummary extend_vocabulary(const ExtendJob& job);

}  // namespace smelt
