// How much text a recipe reads, and how long its training is in passes over it.
#pragma once

#include <optional>
#include <string>

#include "pipeline/recipe.h"

namespace smelt {

// Estimates of a text: tokens from its characters, of which a word piece has about 4.5; of Chinese,
// Japanese and Korean each character is one.
struct TextSize {
  double bytes = 0, tokens = 0;
  bool has_sentence_lines = false;  // one sentence a line and empty lines between documents
};
// Returns the bytes of text files, unpacked: a compressed file counts four times its size.
double unpacked_bytes(const std::vector<std::string>& files);
// Returns the size of files on this machine, or nullopt if there is none. Reads the first 256 KiB
// of those that are not compressed.
std::optional<TextSize> text_size(const std::vector<std::string>& files);
// The text that a recipe trains on, without what is held out. nullopt if the recipe reads no text
// or the text is not on this machine.
std::optional<TextSize> training_text(const Recipe& recipe);

// How many pieces a vocabulary should have for a text, and why: "for 3.6 MB of text; 16000 from
// 10 MB, 30000 from 100 MB on".
struct VocabularySize {
  std::int64_t pieces = 30000;
  std::string reason;
};
VocabularySize suitable_vocabulary(const TextSize& text);

// Tokens of an example, padding counted; 0 if the type of model has no program before its data.
std::int64_t tokens_of_example(const Recipe& recipe);
// About how many examples will be made of this much text.
double examples_of_text(const Recipe& recipe, const TextSize& text);
// About how many examples of so many tokens a held-out text of so many bytes gives.
double held_out_examples(double bytes, double tokens);
// Examples to train on: as many as were made, else as the text will give about. nullopt if neither
// is known.
std::optional<double> training_examples(const Recipe& recipe);

// Passes over the text, or over the rows, that the recipe's training makes. nullopt if the number
// of examples is not known.
std::optional<double> training_passes(const Recipe& recipe);
// How many passes over a text of so many bytes are usual: "about 40".
std::string usual_passes(double bytes);
// "1000000 steps of 128: 128.0 million examples, 16.4 billion tokens, about 450 passes over the
// text (about 40 are usual)"
std::string run_length_text(const Recipe& recipe);
// 128000000 -> "128.0 million"
std::string count_text(double value);

}  // namespace smelt
