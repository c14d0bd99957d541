// What the stages before training make.
#pragma once

#include "pipeline/recipe.h"

namespace smelt {

// Reads the beginning of each file of text.input and throws the UsageError that make_text() would
// throw for it.
void check_text(const Recipe& recipe);
// text/train.txt and text/heldout.txt of text.input.
void make_text(const Recipe& recipe);
// vocab.txt, of the text or the one that the recipe is given (pipeline/given_vocabulary.h).
void make_vocabulary(const Recipe& recipe);
// Writes the records of both parts of the text, the held-out ones first.
void make_examples(const Recipe& recipe);

}  // namespace smelt
