// Porter's stemmer (An algorithm for suffix stripping, 1980) with NLTK's default changes, as
// rouge-score uses it.
#pragma once

#include <string>
#include <string_view>

namespace smelt::evaluation {

// Returns the stem of a lower-case word: "relational" -> "relat", "skies" -> "sky". Every character
// that is not a vowel, even a digit, counts as a consonant. Words of one or two letters are
// unchanged.
std::string porter_stem(std::string_view word);

}  // namespace smelt::evaluation
