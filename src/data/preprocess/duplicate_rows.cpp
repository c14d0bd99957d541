#include "data/preprocess/duplicate_rows.h"

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "text/tokenizers/text_pair.h"

namespace smelt::data {
namespace {

constexpr std::ptrdiff_t kExamples = 5;

// Returns a hash that ignores white space and case. Hashes a separator between the two texts of a
// pair.
std::uint64_t hash_of(const LabelledRow& row) {
  std::string plain;
  for (const std::string* text : {&row.text, &row.pair}) {
    for (const std::string_view word : text::words_in(*text)) {
      for (const char c : word) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      plain += ' ';
    }
    plain += '\0';
  }
  return std::hash<std::string_view>()(plain);
}

// For one text: its first row in a split, and the first row that has the text with another label.
struct Seen {
  const SameTexts::Entry *first = nullptr, *other = nullptr;

  void add(const SameTexts::Entry& e) {
    if (first == nullptr)
      first = &e;
    else if (other == nullptr && e.label != first->label)
      other = &e;
  }
  const SameTexts::Entry* with_other_label(const SameTexts::Entry& e) const {
    return first->label != e.label ? first : other;
  }
};

void add_example(SameText example, std::vector<SameText>& out) {
  if (std::ranges::count(out, example.other_label, &SameText::other_label) < kExamples)
    out.push_back(example);
}

void count_text(std::span<const SameTexts::Entry> rows, SameTextCounts& out) {
  std::vector<Seen> seen(out.within.size());
  for (const SameTexts::Entry& here : rows) {
    const std::size_t own = here.at.split;
    for (std::size_t split = 0; split <= own; ++split) {
      if (seen[split].first == nullptr) continue;
      SameTextCounts::Rows& counts = split == own ? out.within[own] : out.across[own][split];
      const SameTexts::Entry* other = seen[split].with_other_label(here);
      ++counts.rows;
      counts.other_label += other != nullptr ? 1 : 0;
      add_example({.rows = {(other != nullptr ? other : seen[split].first)->at, here.at},
                   .other_label = other != nullptr},
                  out.examples);
    }
    seen[own].add(here);
  }
}

}  // namespace

void SameTexts::add(const LabelledRow& row) {
  if (split_of_rows_ != splits_) rows_ = 0, split_of_rows_ = splits_;
  entries_.push_back({.text = hash_of(row),
                      .at = {.split = splits_ - 1, .row = rows_++},
                      .label = static_cast<std::uint32_t>(std::hash<std::string>()(row.label))});
}

SameTextCounts SameTexts::count() {
  std::ranges::sort(entries_, {}, [](const Entry& e) { return std::pair(e.text, e.at); });
  SameTextCounts out;
  out.within.resize(splits_);
  out.across.resize(splits_, std::vector<SameTextCounts::Rows>(splits_));
  for (std::size_t first = 0, last = 0; first < entries_.size(); first = last) {
    while (last < entries_.size() && entries_[last].text == entries_[first].text) ++last;
    if (last - first > 1) count_text(std::span(entries_).subspan(first, last - first), out);
  }
  std::ranges::stable_sort(out.examples, std::greater(), &SameText::other_label);
  if (std::ssize(out.examples) > kExamples) out.examples.resize(kExamples);
  return out;
}

}  // namespace smelt::data
