// An example as a person reads it.
#pragma once

#include <string>

#include "data/preprocess/bert_statistics.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// What the marks of show_example mean, in one line.
std::string example_legend(bool colour);

// Of BERT: the place, then one line for each segment: pieces joined to words, at the place of a
// prediction "{right < shown}", or "{right =}" when the right token is shown. Without a vocabulary
// tokens are their ids. `colour` for a terminal.
std::string show_example(const std::string& place, const BertRow& example,
                         const Vocabulary* vocabulary, bool colour);

// Any: the place, then one line for each feature: its name and its first values. With a vocabulary
// the ids of kTokenIds (data/input_pipeline/inspect.h) are its tokens, all but padding (id 0) at
// the end; with the pieces of a SentencePiece model likewise those of inputs and targets.
std::string show_features(const std::string& place, const Example& example,
                          const Vocabulary* vocabulary = nullptr,
                          const Tokenizer* pieces = nullptr);

}  // namespace smelt
