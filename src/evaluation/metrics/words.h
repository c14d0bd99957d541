// Splitting of texts into words, as the metrics' original programs do.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::evaluation {

std::string python_lower(std::string_view text);               // str.lower()
std::vector<std::string> python_split(std::string_view text);  // str.split()

using Ngrams = std::map<std::vector<std::string>, std::size_t>;
Ngrams ngrams_of(std::span<const std::string> words, std::size_t n);
// Returns the number of common n-grams: the sum over all n-grams of the smaller of the two
// counts.
std::size_t shared(const Ngrams& a, const Ngrams& b);

}  // namespace smelt::evaluation
