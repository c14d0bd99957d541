#include "text/readers/line_sample.h"

#include <algorithm>

namespace smelt::text {
namespace {

constexpr int kLeastLines = 5;
// A CoNLL-U token has 10 columns: id, form, lemma, and so on.
constexpr std::ptrdiff_t kTokenTabs = 9;

// Returns whether the line is a number, a tab and text.
bool is_numbered(std::string_view line) {
  const auto digits = line.find_first_not_of("0123456789");
  return digits != std::string_view::npos && digits > 0 && line[digits] == '\t' &&
         line.find('\t', digits + 1) == std::string_view::npos;
}

}  // namespace

void LineSample::add(std::string_view line) {
  if (line.empty() || is_full()) return;
  ++lines_;
  numbered_ += is_numbered(line) ? 1 : 0;
  columns_ += std::ranges::count(line, '\t') == kTokenTabs ? 1 : 0;
  markup_ += line.front() == '<' && line.back() == '>' ? 1 : 0;
  has_article_tag_ = has_article_tag_ || line.starts_with("<doc id=");
  has_text_comment_ = has_text_comment_ || line.starts_with("# text = ");
}

std::string LineSample::finding() const {
  if (lines_ < kLeastLines) return "";
  if (2 * columns_ >= lines_)
    return std::string("looks like CoNLL-U, a treebank: its columns are read as text; ") +
           (has_text_comment_ ? "`sed -n 's/^# text = //p'` leaves the sentences"
                              : "`cut -f2` leaves the words");
  if (10 * numbered_ >= 9 * lines_)
    return "has numbered lines: the numbers are read as text; `cut -f2` removes them";
  if (has_article_tag_ || 4 * markup_ >= lines_)
    return "has lines of markup such as <doc>, which are read as text; `grep -v '^<.*>$'` removes "
           "them";
  return "";
}

}  // namespace smelt::text
