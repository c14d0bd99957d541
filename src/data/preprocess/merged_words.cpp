#include "data/preprocess/merged_words.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/script_counts.h"

namespace smelt::data {
namespace {

constexpr std::uint64_t kEnoughBytes = std::uint64_t{16} << 20;
constexpr std::size_t kGroupsShown = 3, kWordsOfGroup = 4;
constexpr double kMostMerged = 0.005, kMostChanged = 0.2;

using Counts = std::map<std::string, std::uint64_t>;

Counts words_with_accents(const text::LinesOptions& text, text::TokenizerOptions options) {
  options.strip_accents = false;
  const text::BasicTokenizer tokenizer(options);
  text::SampledLines lines(text);
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

// Words that become equal when accents are stripped, and how often they occur.
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

MergedWords count_merged_words(const text::LinesOptions& text,
                               const text::TokenizerOptions& options) {
  MergedWords out;
  if (!options.strips_accents()) return out;
  const text::BasicTokenizer stripping(options);
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

namespace {

// The sample's letters by script, and whether the text seems to be Turkish or Azeri.
struct Letters {
  std::vector<std::string> scripts;
  bool is_turkic = false;
};

Letters letters_of(const text::LinesOptions& text) {
  constexpr std::uint64_t kBytes = std::uint64_t{4} << 20;
  constexpr double kLeastOfScript = 0.01, kLeastOfLetters = 0.003;
  text::SampledLines lines(text);
  text::ScriptCounts scripts;
  std::uint64_t all = 0, dotless = 0, others = 0;
  std::string line;
  while (lines.bytes_read() < kBytes && lines.next(line)) {
    scripts.add(line, {}, 0);
    for (const char32_t c : text::to_code_points(line)) {
      dotless += c == U'ı' || c == U'İ' ? 1 : 0;
      others += c == U'ğ' || c == U'ş' || c == U'Ğ' || c == U'Ş' ? 1 : 0;
    }
  }
  const auto sorted = scripts.sorted();
  Letters out;
  for (const text::ScriptCount& count : sorted)
    all += count.script == "Common" ? 0 : count.characters;
  for (const text::ScriptCount& count : sorted)
    if (count.script != "Common" && share(count.characters, all) >= kLeastOfScript)
      out.scripts.push_back(count.script);
  out.is_turkic = share(dotless, all) > kLeastOfLetters && share(others, all) > kLeastOfLetters;
  return out;
}

std::string normalization_of(const text::TokenizerOptions& options) {
  if (!options.lower_case && !options.strips_accents()) return "case and accents kept";
  return str(!options.lower_case   ? "case kept"
             : options.turkic_case ? "lower-cased as in Turkish"
                                   : "lower-cased",
             options.strips_accents() ? ", accents stripped" : ", accents kept");
}

std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words, ", ");
  return str(join(std::vector(words.begin(), words.end() - 1), ", "), " and ", words.back());
}

}  // namespace

void log_normalization(const text::LinesOptions& text, const text::TokenizerOptions& options) {
  const Letters letters = letters_of(text);
  log_info("vocab: {}{}{}", listed(letters.scripts), letters.scripts.empty() ? "" : "; ",
           normalization_of(options));
  if (letters.is_turkic && options.lower_case && !options.turkic_case)
    log_warning(
        "vocab: the text seems to be Turkish or Azeri, but lower-casing turns I into i instead of "
        "ı, which makes different words equal\n"
        "  hint: --language tr (vocab.language=tr) lower-cases by the rules of Turkish; "
        "--lower-case false (vocab.lower_case=false) keeps case");
  const MergedWords found = count_merged_words(text, options);
  if (found.words == 0) return;
  const double merged = share(found.merged, found.words),
               changed = share(found.changed, found.words);
  if (merged <= kMostMerged && changed <= kMostChanged) return;
  log_warning(
      "vocab: stripping accents changes {} of the words and makes {} equal to another word{}\n"
      "  hint: --strip-accents false (vocab.strip_accents=false) keeps accents",
      percent(changed), percent(merged),
      found.examples.empty() ? "" : str(" (", join(found.examples, "; "), ")"));
}

}  // namespace smelt::data
