// From text files to a vocabulary file.
#pragma once

#include <cstdint>
#include <string>

#include "text/wordpiece_trainer.h"

namespace smelt {

struct VocabularyJob {
  std::string input;  // comma list of files and patterns
  std::string out;
  WordPieceTrainerOptions trainer;
  bool lower_case = true;
  bool strict = false;     // refuse text that is not UTF-8, rather than to drop those bytes and warn
  bool overwrite = false;  // of an existing output
};

struct VocabularySummary {
  std::int64_t lines = 0, words = 0, distinct_words = 0, size = 0, dropped_bytes = 0;
  std::int64_t unused = 0;  // of size, [unusedN] that fill up where the text has no more pieces to give
  double seconds = 0;
};

// Words are the BasicTokenizer's, whose case is stored beside the vocabulary (text/tokenizer_config.h). UsageError
// for a missing or empty corpus or an output that exists.
VocabularySummary train_vocabulary(const VocabularyJob& job);

}  // namespace smelt
