#include "examples/merged_words.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/figures.h"
#include "base/log.h"
#include "base/words.h"
#include "tokenize/basic_tokenizer.h"

namespace smelt {
namespace {

constexpr std::uint64_t kEnoughBytes = std::uint64_t{16} << 20;
constexpr std::size_t kGroupsShown = 3, kWordsOfGroup = 4;
constexpr double kMostMerged = 0.005, kMostChanged = 0.2;

using Counts = std::map<std::string, std::uint64_t>;

Counts words_with_accents(const LinesOptions& text, TokenizerOptions options) {
  options.strip_accents = false;
  const BasicTokenizer tokenizer(options);
  SampledLines lines(text);
  Counts out;
  std::string line;
  std::vector<std::string> words;
  while (lines.bytes_read() < kEnoughBytes && lines.next(line)) {
    words.clear();
    tokenizer.tokenize(line, words);
    for (const std::string& word : words) ++out[word];
  }
  return out;
}

// Words that become one, and how often they occur.
struct Group {
  std::vector<std::pair<std::uint64_t, std::string>> words;
  std::uint64_t count = 0;
};

std::string example_of(Group group) {
  std::ranges::stable_sort(group.words, std::greater(),
                           [](const auto& word) { return word.first; });
  std::vector<std::string> out;
  for (const auto& [count, word] : group.words)
    if (out.size() < kWordsOfGroup) out.push_back(word);
  return join(out, ", ");
}

}  // namespace

MergedWords count_merged_words(const LinesOptions& text, const TokenizerOptions& options) {
  MergedWords out;
  if (!options.strips_accents()) return out;
  const BasicTokenizer stripping(options);
  std::map<std::string, Group> groups;
  std::vector<std::string> stripped;
  for (const auto& [word, count] : words_with_accents(text, options)) {
    stripped.clear();
    stripping.tokenize(word, stripped);
    const std::string becomes = join(stripped, " ");
    out.words += count;
    if (becomes != word) out.changed += count;
    Group& group = groups[becomes];
    group.words.emplace_back(count, word);
    group.count += count;
  }
  std::vector<Group> merged;
  for (auto& [becomes, group] : groups)
    if (group.words.size() > 1) {
      out.merged += group.count;
      merged.push_back(std::move(group));
    }
  std::ranges::stable_sort(merged, std::greater(), &Group::count);
  merged.resize(std::min(merged.size(), kGroupsShown));
  for (Group& group : merged) out.examples.push_back(example_of(std::move(group)));
  return out;
}

void log_normalization(const LinesOptions& text, const TokenizerOptions& options) {
  log_info("vocab: {}, {}", options.lower_case ? "lower-cased" : "case kept",
           options.strips_accents() ? "accents stripped" : "accents kept");
  const MergedWords found = count_merged_words(text, options);
  if (found.words == 0) return;
  const double merged = share(found.merged, found.words),
               changed = share(found.changed, found.words);
  if (merged <= kMostMerged && changed <= kMostChanged) return;
  log_warning(
      "vocab: stripping accents changes {} of the words and makes {} equal to another word{}\n"
      "  hint: --strip-accents false (vocab.strip_accents=false) keeps accents, --cased "
      "(vocab.lower_case=false) keeps case, too",
      percent(changed), percent(merged),
      found.examples.empty() ? "" : str(" (", join(found.examples, "; "), ")"));
}

}  // namespace smelt
