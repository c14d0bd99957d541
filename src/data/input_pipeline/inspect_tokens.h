// What is in token stores and snapshot folders, and whether all of it can be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/input_pipeline/inspect.h"
#include "data/input_pipeline/token_files.h"

namespace smelt {

struct TokenRun {
  std::string place;
  std::vector<std::int32_t> ids;
};

struct TokenStatistics {
  std::uint64_t files = 0, tokens = 0, documents = 0;
  Range<std::int32_t> ids{.smallest = 0, .largest = 0};
  std::uint64_t out_of_range = 0;  // ids from the limit on
  std::string first_out_of_range;  // "books.tokens: token 17 is 32000"
  TokenVocabulary vocabulary;      // as the stores know it
  std::vector<TokenRun> samples;   // the first tokens, or runs evenly spread over all
};

// Reads every token; `limit` 0: none. UsageError as of TokenFiles.
TokenStatistics inspect_tokens(const InspectOptions& options, std::int64_t limit);

}  // namespace smelt
