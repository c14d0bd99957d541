// Porter's stemmer (An algorithm for suffix stripping, 1980) with the changes that NLTK makes to it
// by default, which rouge-score takes.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

// Of a word in lower case: "relational" -> "relat", "skies" -> "sky". What is no vowel, digits too,
// counts as a consonant; words of one or two letters stay.
std::string porter_stem(std::string_view word);

}  // namespace smelt
