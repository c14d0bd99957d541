#include "evaluation/metrics/porter.h"

#include <span>
#include <utility>
#include <vector>

namespace smelt::evaluation {
namespace {

bool is_vowel(char c) { return std::string_view("aeiou").find(c) != std::string_view::npos; }

// Returns for each letter whether it is a consonant; a y after a consonant is a vowel.
std::vector<bool> consonants(std::string_view word) {
  std::vector<bool> out;
  for (const char c : word) out.push_back(c == 'y' ? out.empty() || !out.back() : !is_vowel(c));
  return out;
}

// Returns Porter's measure m: the number of vowel-consonant sequences.
int measure(std::string_view stem) {
  const std::vector<bool> is = consonants(stem);
  int m = 0;
  for (std::size_t i = 1; i < is.size(); ++i) m += is[i] && !is[i - 1] ? 1 : 0;
  return m;
}

bool has_vowel(std::string_view stem) {
  for (const bool consonant : consonants(stem))
    if (!consonant) return true;
  return false;
}

// Porter's condition *d: the word ends in a double consonant.
bool ends_in_double_consonant(std::string_view word) {
  const std::size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && consonants(word)[n - 1];
}

// Porter's condition *o: the word ends in consonant, vowel, and a consonant other than w, x or y;
// in NLTK also if the word is a vowel and a consonant.
bool ends_short(std::string_view word) {
  const std::vector<bool> is = consonants(word);
  const std::size_t n = is.size();
  if (n == 2) return !is[0] && is[1];
  return n >= 3 && is[n - 3] && !is[n - 2] && is[n - 1] && word[n - 1] != 'w' &&
         word[n - 1] != 'x' && word[n - 1] != 'y';
}

std::string_view without(std::string_view word, std::string_view ending) {
  return word.substr(0, word.size() - ending.size());
}

std::string joined(std::string_view stem, std::string_view ending) {
  std::string out(stem);
  return out += ending;
}

struct Rule {
  std::string_view ending, by;
};

// Applies the first rule whose ending the word has: replaces the ending if the stem's measure is at
// least `least`.
std::string by_rules(std::string_view word, std::span<const Rule> rules, int least) {
  for (const auto& [ending, by] : rules) {
    if (!word.ends_with(ending)) continue;
    const std::string_view stem = without(word, ending);
    return measure(stem) >= least ? joined(stem, by) : std::string(word);
  }
  return std::string(word);
}

// Irregular words of NLTK's stemmer.
constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
    {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
    {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
    {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
    {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};

std::string without_plural(std::string_view word) {
  if (word.size() == 4 && word.ends_with("ies")) return joined(without(word, "ies"), "ie");
  static constexpr Rule kRules[] = {{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}};
  return by_rules(word, kRules, 0);
}

// Restores the stem after "ed" or "ing" was removed.
std::string restored_stem(std::string_view stem) {
  for (const std::string_view ending : {"at", "bl", "iz"})
    if (stem.ends_with(ending)) return joined(stem, "e");
  if (ends_in_double_consonant(stem)) {
    const char last = stem.back();
    return std::string(last == 'l' || last == 's' || last == 'z' ? stem : without(stem, "."));
  }
  return joined(stem, measure(stem) == 1 && ends_short(stem) ? "e" : "");
}

std::string without_participle(std::string_view word) {
  if (word.ends_with("ied")) return joined(without(word, "ied"), word.size() == 4 ? "ie" : "i");
  if (word.ends_with("eed"))
    return std::string(measure(without(word, "eed")) > 0 ? without(word, "d") : word);
  for (const std::string_view ending : {"ed", "ing"})
    if (word.ends_with(ending) && has_vowel(without(word, ending)))
      return restored_stem(without(word, ending));
  return std::string(word);
}

// Step 1c in NLTK's version: turns a final y into i after a consonant that is not the first letter,
// even if the stem has no vowel.
std::string with_i(std::string word) {
  if (word.size() > 2 && word.back() == 'y' && consonants(word)[word.size() - 2]) word.back() = 'i';
  return word;
}

std::string without_double_suffix(std::string_view word) {
  if (word.ends_with("alli") && measure(without(word, "alli")) > 0)
    return without_double_suffix(without(word, "li"));
  static constexpr Rule kRules[] = {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},
                                    {"anci", "ance"},   {"izer", "ize"},    {"bli", "ble"},
                                    {"alli", "al"},     {"entli", "ent"},   {"eli", "e"},
                                    {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
                                    {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"},
                                    {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
                                    {"iviti", "ive"},   {"biliti", "ble"},  {"fulli", "ful"}};
  // The l belongs to the stem here, so that the stem of "geologi" has a measure above 0.
  if (word.ends_with("logi"))
    return std::string(measure(without(word, "ogi")) > 0 ? without(word, "i") : word);
  return by_rules(word, kRules, 1);
}

std::string without_suffixes(std::string_view word) {
  static constexpr Rule kThird[] = {{"icate", "ic"}, {"ative", ""},  {"alize", "al"},
                                    {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""},
                                    {"ness", ""}};
  static constexpr Rule kFourth[] = {
      {"al", ""},   {"ance", ""}, {"ence", ""},  {"er", ""},   {"ic", ""},  {"able", ""},
      {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ou", ""},
      {"ism", ""},  {"ate", ""},  {"iti", ""},   {"ous", ""},  {"ive", ""}, {"ize", ""}};
  const std::string shorter = by_rules(word, kThird, 1);
  if (!shorter.ends_with("ion")) return by_rules(shorter, kFourth, 2);
  const std::string_view stem = without(shorter, "ion");
  const bool fits = measure(stem) > 1 && (stem.ends_with('s') || stem.ends_with('t'));
  return fits ? std::string(stem) : shorter;
}

std::string tidied(std::string word) {
  if (word.ends_with('e')) {
    const std::string_view stem = without(word, "e");
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_short(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(without(word, "l")) > 1) word.pop_back();
  return word;
}

}  // namespace

std::string porter_stem(std::string_view word) {
  for (const auto& [form, stem] : kIrregular)
    if (word == form) return std::string(stem);
  if (word.size() <= 2) return std::string(word);
  const std::string singular = with_i(without_participle(without_plural(word)));
  return tidied(without_suffixes(without_double_suffix(singular)));
}

}  // namespace smelt::evaluation
