// Reads the description of record files, which stores how they were made
// (docs/reference/formats/description.md). It is <first file>.json, or smelt-data.json in a folder
// that is reserved for the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::data {

// Name of the description in a reserved folder. <first file>.json cannot be used there, because
// every file whose name begins like a record file is read as records.
inline constexpr std::string_view kFolderDescription = "smelt-data.json";

// The most frequent original token at masked positions, and its frequency.
struct MajorityToken {
  std::int32_t id = 0;
  std::uint64_t count = 0;

  bool operator==(const MajorityToken&) const = default;
};

// The fields of a description that a reader of the records can check. Fields that the description
// lacks are empty.
struct DataDescription {
  std::string origin;  // path of the description, for messages
  std::string kind;    // "bert"
  std::vector<std::string> files;
  std::optional<std::uint64_t> examples, masked_tokens;
  std::optional<std::uint32_t> vocabulary_crc32c;
  std::string vocabulary_file;
  std::optional<MajorityToken> majority_token;
  // Average number of characters per token, with spaces and without unknown words.
  std::optional<double> characters_per_token;
  Json all;  // all fields by name
};

// Returns the token counts of the text that the data were made from; all 0 if the description lacks
// them.
text::UnknownCount unknown_count(const DataDescription& description);
// Logs a warning as UnknownCount::warn() does, with hints for the kind of vocabulary in the
// description.
void warn_of_unknown_tokens(const DataDescription& description);

// The properties that a reader expects of the records. Fields that the description lacks are not
// checked.
struct ExpectedData {
  std::uint64_t examples = 0;
  std::string vocab;                                   // the model's vocabulary; empty: not known
  std::vector<std::pair<std::string, Json>> settings;  // by the description's field names
};
// Throws UsageError with the described and the expected value if they differ.
void check_description(const DataDescription& description, const ExpectedData& expected);

// Throws UsageError, beginning with `origin`, if the text is not a JSON object or a value has a
// wrong type.
DataDescription parse_description(std::string_view json, std::string origin);

// Returns the names of files that the description lists but that are not among `files`.
std::vector<std::string> left_out(const DataDescription& description,
                                  const std::vector<std::string>& files);
// Returns a text for messages such as "8 files in the description, 1 of them not given
// (x-00002-of-00008)".
std::string missing_files_text(const DataDescription& description,
                               const std::vector<std::string>& left_out);

// Returns the description of these record files, stored next to the first one or in its folder;
// nullopt if neither exists.
std::optional<DataDescription> find_description(const std::vector<std::string>& files);

}  // namespace smelt::data
