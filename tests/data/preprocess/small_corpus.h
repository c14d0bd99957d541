// Texts of words of the golden vocabulary, and sizes so small that these texts need many groups,
// ranges and passes.
#pragma once

#include <string>
#include <vector>

#include "base/stream_random.h"
#include "data/preprocess/shuffle_sizes.h"
#include "support/paths.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::data {

inline std::string golden_vocabulary() {
  return source_path("tests/golden/pretraining/vocab_uncased.txt");
}

// Returns `count` documents, each followed by a blank line.
inline std::vector<std::string> make_documents(int count) {
  const text::Vocabulary vocabulary = text::Vocabulary::load(golden_vocabulary());
  StreamRandom random(7, 0, 0);
  std::vector<std::string> documents(static_cast<std::size_t>(count));
  for (std::string& document : documents) {
    for (std::int64_t line = random.randint(1, 12); line > 0; --line) {
      for (std::int64_t word = random.randint(1, 30); word > 0; --word)
        document +=
            vocabulary.token(static_cast<std::int32_t>(random.randint(5, vocabulary.size() - 1))) +
            " ";
      document += "\n";
    }
    document += "\n";
  }
  return documents;
}

inline std::string small_text(int documents) {
  std::string text;
  for (const std::string& document : make_documents(documents)) text += document;
  return text;
}

inline ShuffleSizes small_sizes() {
  return {.group_bytes = 8 << 10,
          .document_ranges = 4,
          .fan_out = 3,
          .range_bytes = 2 << 10,
          .encoded_bytes = 4 << 10,
          .batch_bytes = 1 << 10,
          .least_chunk = 256,
          .most_chunk = 1024,
          .least_memory = 16 << 10};
}

}  // namespace smelt::data
