// <first file>.json beside a set of record files, or smelt-data.json in a folder of theirs
// (docs/reference/formats/description.md): what they were made with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt {

// In a folder that is the records' own, where a name that begins as theirs would be taken for one.
inline constexpr std::string_view kFolderDescription = "smelt-data.json";

// The token that is most often the answer at a masked position, and how often.
struct MajorityToken {
  std::int32_t id = 0;
  std::uint64_t count = 0;

  bool operator==(const MajorityToken&) const = default;
};

// What a reader of the records can check; a field that the description lacks is empty.
struct DataDescription {
  std::string origin;  // for messages
  std::string kind;    // "bert"
  std::vector<std::string> files;
  std::optional<std::uint64_t> examples, masked_tokens;
  std::optional<std::uint32_t> vocabulary_crc32c;
  std::string vocabulary_file;
  std::optional<MajorityToken> majority_token;
  std::optional<double> characters_per_token;  // of the text, spaces counted, unknown words not
  Json all;                                    // every field, by its name
};

// The tokens of the text that the data were made of; all 0 if the description lacks them.
UnknownCount unknown_count(const DataDescription& description);
// Logs a warning as UnknownCount::warn() does, with hints for the kind of vocabulary that the
// description names.
void warn_of_unknown_tokens(const DataDescription& description);

// What a reader of the records expects of them; what the description lacks passes.
struct ExpectedData {
  std::uint64_t examples = 0;
  std::string vocab;                                   // the model's vocabulary; empty: not known
  std::vector<std::pair<std::string, Json>> settings;  // as the description names them
};
// UsageError naming what the description says and what is expected.
void check_description(const DataDescription& description, const ExpectedData& expected);

// UsageError beginning with `origin` for what is not a JSON object or holds a value of a wrong
// kind.
DataDescription parse_description(std::string_view json, std::string origin);

// Names that it lists and that are none of these files'.
std::vector<std::string> left_out(const DataDescription& description,
                                  const std::vector<std::string>& files);
// "8 files in the description, 1 of them not given (x-00002-of-00008)", of those left out.
std::string left_out_text(const DataDescription& description,
                          const std::vector<std::string>& left_out);

// Of record files in their order; nullopt when none stands beside the first, nor one in its folder
// that tells of it.
std::optional<DataDescription> find_description(const std::vector<std::string>& files);

}  // namespace smelt
