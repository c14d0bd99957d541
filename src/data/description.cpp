#include "data/description.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "format/crc32c.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
namespace {

using nlohmann::json;
constexpr std::string_view kHint = "remove the file, or make the data again";

class Fields {
 public:
  Fields(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object.is_object()) throw UsageError(str(where_, ": no JSON object"), kHint);
  }

  template <class T>
  std::optional<T> number(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return std::nullopt;
    const bool right =
        std::is_signed_v<T> ? found->is_number_integer() : found->is_number_unsigned();
    if (!right || !std::in_range<T>(found->get<std::uint64_t>()))
      refuse(name, "no whole number in range");
    return found->get<T>();
  }
  std::optional<bool> flag(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return std::nullopt;
    if (!found->is_boolean()) refuse(name, "neither true nor false");
    return found->get<bool>();
  }
  std::string text(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return "";
    if (!found->is_string()) refuse(name, "no text");
    return found->get<std::string>();
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> out;
    const auto found = object_.find(name);
    if (found == object_.end()) return out;
    if (!found->is_array()) refuse(name, "no list");
    for (const json& item : *found) {
      if (!item.is_string()) refuse(name, "no list of texts");
      out.push_back(item.get<std::string>());
    }
    return out;
  }
  std::optional<Fields> section(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) return std::nullopt;
    return Fields(*found, str(where_, ": ", name));
  }

 private:
  [[noreturn]] void refuse(const char* name, std::string_view problem) const {
    throw UsageError(str(where_, ": ", name, " is ", problem), kHint);
  }

  const json& object_;
  std::string where_;
};

}  // namespace

DataDescription parse_description(std::string_view text, std::string origin) {
  const json parsed = json::parse(text, nullptr, false);
  if (parsed.is_discarded()) throw UsageError(str(origin, ": not JSON"), kHint);
  const Fields fields(parsed, origin);
  DataDescription out;
  out.files = fields.texts("files");
  out.examples = fields.number<std::uint64_t>("examples");
  out.masked_tokens = fields.number<std::uint64_t>("masked_tokens");
  out.seq_length = fields.number<std::int64_t>("seq_length");
  out.max_predictions = fields.number<std::int64_t>("max_predictions");
  out.next_sentence = fields.flag("next_sentence");
  if (const auto vocabulary = fields.section("vocabulary")) {
    out.vocabulary_file = vocabulary->text("file");
    out.vocabulary_crc32c = vocabulary->number<std::uint32_t>("crc32c");
  }
  if (const auto majority = fields.section("majority_token")) {
    const auto id = majority->number<std::int32_t>("id");
    const auto count = majority->number<std::uint64_t>("count");
    if (id && count) out.majority_token = {.id = *id, .count = *count};
  }
  out.origin = std::move(origin);
  return out;
}

void check_description(const DataDescription& d, const ExpectedData& e) {
  const auto check = [&](std::string_view what, const auto& said, const auto& wanted,
                         std::string_view hint) {
    if (said && !std::cmp_equal(*said, wanted))
      throw UsageError(str(d.origin, ": says ", what, " ", *said, ", not ", wanted), hint);
  };
  check("examples", d.examples, e.examples,
        "files are missing or of another run: make the data again");
  check("seq_length", d.seq_length, e.seq_length, "set the data's lengths, or make the data again");
  check("max_predictions", d.max_predictions, e.max_predictions,
        "set the data's lengths, or make the data again");
  if (e.next_sentence && d.next_sentence == false)
    throw UsageError(
        str(d.origin, ": says next_sentence false, the model learns to tell next sentences"),
        "set data.next_sentence to false, or make the data again");
  if (e.vocab.empty()) return;
  check(str("that the vocabulary's CRC-32C (", d.vocabulary_file, ") is"), d.vocabulary_crc32c,
        crc32c(read_file(e.vocab)), str("make the data again with ", e.vocab));
}

std::optional<DataDescription> find_description(const std::vector<std::string>& files) {
  if (files.empty()) return std::nullopt;
  const std::string path = append_to_path(files.front(), ".json");
  if (!exists(path)) return std::nullopt;
  return parse_description(read_file(path, kSmallFileBytes), path);
}

}  // namespace smelt
