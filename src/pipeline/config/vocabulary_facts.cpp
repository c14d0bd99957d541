#include "pipeline/config/vocabulary_facts.h"

#include "base/error.h"
#include "data/input_pipeline/description.h"

namespace smelt::pipeline {

std::int64_t vocabulary_rows(std::int64_t size, const text::Vocabulary& vocabulary,
                             const std::string& name) {
  return vocabulary_rows(size, size == 0 ? vocabulary.size() : vocabulary.rows(),
                         vocabulary.origin(), name);
}

std::int64_t vocabulary_rows(std::int64_t size, std::int64_t lines, const std::string& origin,
                             const std::string& name) {
  if (size == 0) return lines;
  if (size < lines)
    throw UsageError(str(name, " ", size, " is smaller than the ", lines, " lines of ", origin),
                     str("set ", name, " to ", lines, " or more"));
  return size;
}

std::optional<std::int32_t> majority_token(const std::vector<std::string>& records,
                                           const text::Vocabulary& vocabulary) {
  const auto description = data::find_description(records);
  if (!description || !description->majority_token) return std::nullopt;
  const std::int32_t id = description->majority_token->id;
  if (id < 0 || id >= vocabulary.size())
    throw UsageError(str(description->origin, ": majority_token.id ", id, " is not one of the ",
                         vocabulary.size(), " tokens of ", vocabulary.origin()),
                     "make the data again with `smelt run`");
  return id;
}

}  // namespace smelt::pipeline
