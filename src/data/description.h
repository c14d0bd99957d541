// <first file>.json beside a set of record files (docs/formats/description.md): what they were made
// with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

// The token that is most often the answer at a masked position, and how often.
struct MajorityToken {
  std::int32_t id = 0;
  std::uint64_t count = 0;

  bool operator==(const MajorityToken&) const = default;
};

// What a reader of the records can check; a field that the description lacks is empty.
struct DataDescription {
  std::string origin;  // for messages
  std::vector<std::string> files;
  std::optional<std::uint64_t> examples, masked_tokens;
  std::optional<std::int64_t> seq_length, max_predictions;
  std::optional<std::uint32_t> vocabulary_crc32c;
  std::string vocabulary_file;
  std::optional<bool> next_sentence;
  std::optional<MajorityToken> majority_token;
};

// What a reader of the records expects of them.
struct ExpectedData {
  std::uint64_t examples = 0;
  std::int64_t seq_length = 0, max_predictions = 0;
  std::string vocab;          // the model's vocabulary; empty: not known
  bool next_sentence = true;  // the model learns to tell next sentences
};
// UsageError naming what the description says and what is expected.
void check_description(const DataDescription& description, const ExpectedData& expected);

// UsageError beginning with `origin` for what is not a JSON object or holds a value of a wrong
// kind.
DataDescription parse_description(std::string_view json, std::string origin);

// Of record files in their order; nullopt when none stands beside the first.
std::optional<DataDescription> find_description(const std::vector<std::string>& files);

}  // namespace smelt
