#include "evaluation/metrics/words.h"

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <utility>

#include "text/readers/unicode.h"

namespace smelt::evaluation {

std::string python_lower(std::string_view text) {
  std::string out;
  icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())})
      .toLower(icu::Locale::getRoot())
      .toUTF8String(out);
  return out;
}

std::vector<std::string> python_split(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char32_t c : text::to_code_points(text)) {
    if (!text::is_python_space(c)) {
      text::append_utf8(c, word);
    } else if (!word.empty()) {
      out.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) out.push_back(word);
  return out;
}

Ngrams ngrams_of(std::span<const std::string> words, std::size_t n) {
  Ngrams out;
  for (std::size_t i = 0; i + n <= words.size(); ++i) {
    const auto run = words.subspan(i, n);
    ++out[{run.begin(), run.end()}];
  }
  return out;
}

std::size_t shared(const Ngrams& a, const Ngrams& b) {
  std::size_t sum = 0;
  for (const auto& [run, count] : a)
    if (const auto found = b.find(run); found != b.end()) sum += std::min(count, found->second);
  return sum;
}

}  // namespace smelt::evaluation
