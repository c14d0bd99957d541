// Prints examples in readable form.
#pragma once

#include <string>

#include "data/preprocess/bert_statistics.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {

// Returns one line that explains the marks of show_example().
std::string example_legend(bool colour);

// Formats a BERT example: its place, then a line for each segment, with pieces joined to words. A
// position that the model has to predict is shown as "{cat < [MASK]}": the right token, then the
// token in the input; or as "{cat =}" if the input has the right token there. Without a vocabulary,
// tokens are shown as ids. `colour` is for a terminal.
std::string show_example(const std::string& place, const data::BertRow& example,
                         const text::Vocabulary* vocabulary, bool colour);

// Formats any example: its place, then a line for each feature with its name and first values. If
// `vocabulary` is set, the features kTokenIds (data/input_pipeline/inspect.h) are shown as tokens
// without trailing padding (id 0). If `pieces`, a SentencePiece model, is set, the features inputs
// and targets are shown in the same way.
std::string show_features(const std::string& place, const io::Example& example,
                          const text::Vocabulary* vocabulary = nullptr,
                          const text::Tokenizer* pieces = nullptr);

}  // namespace smelt::pipeline
