// Summarizes token stores and snapshot folders and checks that they can be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/input_pipeline/inspect.h"
#include "data/input_pipeline/token_files.h"

namespace smelt::data {

struct TokenRun {
  std::string place;
  std::vector<std::int32_t> ids;
};

struct TokenStatistics {
  std::uint64_t files = 0, tokens = 0, documents = 0;
  Range<std::int32_t> ids{.smallest = 0, .largest = 0};
  std::uint64_t out_of_range = 0;  // ids that are not less than the limit
  std::string first_out_of_range;  // for messages: "books.tokens: token 17 is 32000"
  io::TokenVocabulary vocabulary;  // as stored in the token stores
  std::vector<TokenRun> samples;   // the first tokens, or evenly spaced runs
};

// Reads every token. `limit` is the number of valid ids; 0: not checked. Throws UsageError as
// TokenFiles does.
TokenStatistics inspect_tokens(const InspectOptions& options, std::int64_t limit);

}  // namespace smelt::data
