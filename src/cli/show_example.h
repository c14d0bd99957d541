// A BERT example as a person reads it.
#pragma once

#include <string>

#include "data/inspect.h"
#include "tokenize/vocabulary.h"

namespace smelt {

// What the marks of show_example mean, in one line.
std::string example_legend(bool colour);

// Place, then one line for each segment: pieces joined to words, at the place of a prediction
// "{right < shown}", or
// "{right =}" when the right token is shown. Without a vocabulary tokens are their ids. `colour`
// for a terminal.
std::string show_example(const RecordSample& sample, const Vocabulary* vocabulary, bool colour);

}  // namespace smelt
