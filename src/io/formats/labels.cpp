#include "io/formats/labels.h"

#include <algorithm>

#include "base/json.h"
#include "base/str.h"

namespace smelt::io {
namespace {

// Returns the names in a JSON list of strings, without surrounding white space and without empty
// names. Returns nullopt if the text is not such a list.
std::optional<std::vector<std::string>> names_of_json(std::string_view text) {
  if (!text.starts_with('[')) return std::nullopt;
  const Json list = Json::parse_or_discard(text);
  if (!list.is_array()) return std::nullopt;
  std::vector<std::string> out;
  for (const Json& name : list) {
    if (name.is_structured() || name.is_null()) return std::nullopt;
    const std::string text = name.is_string() ? name.get<std::string>() : name.dump();
    if (!trim(text).empty()) out.emplace_back(trim(text));
  }
  return out;
}

}  // namespace

std::vector<std::string> class_names_in(std::string_view text, std::span<const std::string> known) {
  if (const auto names = names_of_json(trim(text))) return *names;
  const std::vector<std::string_view> pieces = split(text, ',');
  std::vector<std::string> out;
  for (std::size_t first = 0; first < pieces.size();) {
    std::string name(trim(pieces[first]));
    std::size_t next = first + 1;
    // Finds the longest run of pieces, joined by commas, that is a known name.
    for (std::size_t last = pieces.size(); last > next; --last) {
      const std::string run = join(std::span(pieces).subspan(first, last - first), ",");
      if (std::ranges::find(known, trim(run)) == known.end()) continue;
      name = trim(run);
      next = last;
    }
    if (!name.empty()) out.push_back(std::move(name));
    first = next;
  }
  return out;
}

std::string class_names_text(const std::vector<std::string>& names) {
  const std::string text = join(names, ",");
  return class_names_in(text) == names ? text : Json(names).dump();
}

}  // namespace smelt::io
