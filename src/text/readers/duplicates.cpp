#include "text/readers/duplicates.h"

#include <algorithm>

#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// splitmix64's finalizer (Steele et al. 2014)
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

std::uint64_t word_hash(std::string_view word) {
  std::uint64_t hash = 0xCBF29CE484222325;  // FNV-1a
  for (char c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  }
  return mix(hash);
}

std::vector<std::uint64_t> word_hashes(std::string_view text) {
  std::vector<std::uint64_t> hashes;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto first =
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(begin), text.end(), is_space);
    const auto last = std::find_if(first, text.end(), is_space);
    if (first != last) hashes.push_back(word_hash({first, last}));
    begin = static_cast<std::size_t>(last - text.begin());
  }
  return hashes;
}

// Returns the hashes of the words separated by white space. A character of a script without spaces
// is a word.
std::vector<std::uint64_t> word_and_character_hashes(std::string_view text) {
  if (is_ascii(text)) return word_hashes(text);
  std::string spaced, character;
  for (const char32_t c : to_code_points(text)) {
    character.clear();
    append_utf8(c, character);
    if (is_written_without_spaces(c)) character = ' ' + character + ' ';
    spaced += character;
  }
  return word_hashes(spaced);
}

std::uint64_t combine(const std::uint64_t* first, std::size_t count) {
  std::uint64_t hash = count;
  for (std::size_t i = 0; i < count; ++i) hash = mix(hash * 0x9E3779B97F4A7C15 + first[i]);
  return hash;
}

// Appends one hash for each run of `length` consecutive units (words or characters).
void append_runs(const std::vector<std::uint64_t>& units, std::size_t length,
                 std::vector<std::uint64_t>& hashes) {
  for (std::size_t i = 0; i + length <= units.size(); ++i)
    hashes.push_back(combine(units.data() + i, length));
}

// Returns the hashes of the characters, with one space between words.
std::vector<std::uint64_t> character_hashes(std::string_view text) {
  std::vector<std::uint64_t> hashes;
  std::string character;
  for (const char32_t c : to_code_points(python_strip(text))) {
    character.clear();
    append_utf8(c, character);
    const bool space = character.size() == 1 && is_space(character[0]);
    if (space) character = " ";
    const std::uint64_t hash = word_hash(character);
    if (!space || hash != hashes.back()) hashes.push_back(hash);
  }
  return hashes;
}

// Returns the hashes of all five-word shingles. A text of fewer than five words uses five-character
// shingles; a text of fewer than five characters is hashed whole.
std::vector<std::uint64_t> shingles(std::string_view text) {
  constexpr std::size_t kLength = NearDuplicates::kShingleWords;
  std::vector<std::uint64_t> units = word_and_character_hashes(text), hashes;
  if (units.size() < kLength) units = character_hashes(text);
  append_runs(units, std::min(units.size(), kLength), hashes);
  return hashes;
}

}  // namespace

bool ExactDuplicates::seen(std::string_view text) {
  const std::vector<std::uint64_t> words = word_hashes(text);
  return texts_.seen(combine(words.data(), words.size()));
}

bool NearDuplicates::Signatures::holds(const Signature& signature) const {
  const auto similar = [&](const Values& other) {
    std::size_t equal = 0;
    for (std::size_t i = 0; i < kHashes; ++i) equal += signature.values[i] == other[i] ? 1 : 0;
    return static_cast<double>(equal) >= kSimilar * kHashes;
  };
  for (std::size_t band = 0; band < kBands; ++band) {
    const auto found = bands[band].find(signature.keys[band]);
    if (found != bands[band].end() && similar(values[found->second])) return true;
  }
  return false;
}

void NearDuplicates::Signatures::add(const Signature& signature) {
  const auto number = static_cast<std::uint32_t>(values.size());
  values.push_back(signature.values);
  for (std::size_t band = 0; band < kBands; ++band)
    bands[band].try_emplace(signature.keys[band], number);
}

bool NearDuplicates::seen(std::string_view text) {
  Signature signature;
  Values& values = signature.values;
  values.fill(~std::uint32_t{0});
  for (const std::uint64_t shingle : shingles(text))
    for (std::size_t i = 0; i < kHashes; ++i) {
      // Multiply-add hashing, with a different odd factor for each function.
      const std::uint64_t factor = 0x9E3779B97F4A7C15 * (2 * i + 1);
      values[i] = std::min(values[i], static_cast<std::uint32_t>(((shingle + i) * factor) >> 32));
    }
  constexpr std::size_t kRows = kHashes / kBands;
  for (std::size_t band = 0; band < kBands; ++band) {
    std::uint64_t key = band;
    for (std::size_t row = 0; row < kRows; ++row)
      key = mix(key ^ values[band * kRows + row]) + band;
    signature.keys[band] = key;
  }
  return texts_.seen(signature);
}

}  // namespace smelt::text
