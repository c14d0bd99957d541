// The stages before training.
#pragma once

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Reads the beginning of each file of text.input and throws the UsageError that make_text() would
// throw for it.
void check_text(const Recipe& recipe);
// Writes text/train.txt and text/heldout.txt from text.input.
void make_text(const Recipe& recipe);
// Writes the vocabulary: trained on the text, or a copy of the existing one
// (pipeline/config/given_vocabulary.h).
void make_vocabulary(const Recipe& recipe);
// Writes the records of both splits, the held-out ones first.
void make_examples(const Recipe& recipe);

}  // namespace smelt::pipeline
