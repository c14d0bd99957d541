// The amount of text that a recipe reads, and the length of its training in passes over it.
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Estimated size of a text. A token is about 4.5 characters, or one Chinese, Japanese or Korean
// character.
struct TextSize {
  double bytes = 0, tokens = 0;
  bool has_sentence_lines = false;  // one sentence a line and empty lines between documents
};
// Returns the bytes of text files; compressed ones count as four times their size.
double unpacked_bytes(const std::vector<std::string>& files);
// Returns the total size of files; nullopt if there are none or one of them is remote. Estimates
// the tokens from the first 256 KiB of the uncompressed files.
std::optional<TextSize> text_size(const std::vector<std::string>& files);
// Returns the size of the text that a recipe trains on, without the held-out share. nullopt if the
// recipe reads no text or the text is not on this machine.
std::optional<TextSize> training_text(const Recipe& recipe);

// A recommended vocabulary size for a text, with the reason: "for 3.6 MB of text; 16000 from 10 MB,
// 30000 from 100 MB on".
struct VocabularySize {
  std::int64_t pieces = 30000;
  std::string reason;
};
VocabularySize suitable_vocabulary(const TextSize& text);

// Returns the tokens of an example, including padding; 0 if the training program cannot be built
// before the data are made.
std::int64_t tokens_of_example(const Recipe& recipe);
// Returns the approximate number of examples that this text yields.
double examples_of_text(const Recipe& recipe, const TextSize& text);
// Returns the approximate number of examples of `tokens` tokens that `bytes` bytes of held-out text
// yield.
double held_out_examples(double bytes, double tokens);
// Returns the number of training examples: exact if they are made, otherwise estimated from the
// text. nullopt if neither is known.
std::optional<double> training_examples(const Recipe& recipe);

// Returns how many passes over the text or the rows the training makes. nullopt if the number of
// examples is not known.
std::optional<double> training_passes(const Recipe& recipe);
// Returns the usual number of passes over a text of `bytes` bytes: "about 40".
std::string usual_passes(double bytes);
// Returns "1000000 steps of 128: 128.0 million examples, 16.4 billion tokens, about 450 passes over
// the text (about 40 are usual for 1.2 GB)".
std::string run_length_text(const Recipe& recipe);
// Formats a count: 128000000 as "128.0 million".
std::string count_text(double value);

}  // namespace smelt::pipeline
