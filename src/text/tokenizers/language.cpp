#include "text/tokenizers/language.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/str.h"

namespace smelt::text {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns whether a subtag has a format that BCP 47 allows. The first one is a language of two or
// three letters.
bool is_subtag(std::string_view tag, bool is_first) {
  if (is_first) return (tag.size() == 2 || tag.size() == 3) && std::ranges::all_of(tag, is_letter);
  return !tag.empty() && tag.size() <= 8 &&
         std::ranges::all_of(tag, [](char c) { return is_letter(c) || is_digit(c); });
}

}  // namespace

bool has_turkic_case(std::string_view language, std::string_view where) {
  if (language.empty()) return false;
  const auto subtags = smelt::split(language, '-');
  for (std::size_t i = 0; i < subtags.size(); ++i)
    if (!is_subtag(subtags[i], i == 0))
      throw UsageError(str(where, ": '", language, "' is not a language tag (BCP 47)"),
                       "use a tag such as en, tr or zh-Hant");
  const std::string first = smelt::lower_case(subtags[0]);
  return first == "tr" || first == "az";
}

}  // namespace smelt::text
