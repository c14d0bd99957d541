// From a window of tokens to inputs and targets: what T5 and ttt learn from plain text.
#pragma once

#include <cstdint>

#include "base/choice.h"
#include "io/formats/window_transform.h"

namespace smelt {

enum class TextObjective {
  span_corruption,   // T5's: spans of noise, told by sentinels (t5.data.preprocessors)
  iid_denoise_text,  // ttt's: spans of one length, which begin anywhere
  prefix_lm,         // T5's: a first part of any length, and what follows it
  lm                 // the text itself as targets, which ends where it says so; inputs are an end
};
inline constexpr NamedValues<TextObjective, 4> kTextObjectives{
    {{"span_corruption", TextObjective::span_corruption},
     {"iid_denoise_text", TextObjective::iid_denoise_text},
     {"prefix_lm", TextObjective::prefix_lm},
     {"lm", TextObjective::lm}}};
constexpr const NamedValues<TextObjective, 4>& words_of(TextObjective) { return kTextObjectives; }

struct TextToText {
  TextObjective objective = TextObjective::span_corruption;
  std::int64_t inputs_length = 512;  // with the end of sequence
  std::int64_t targets_length = 0;   // the same; 0: as long as they become
  double noise_density = 0.15;
  double mean_noise_span_length = 3;  // of iid_denoise_text every span's, a whole number
  bool across_documents = true;
  std::int32_t end = 1;       // of a sequence
  std::int32_t sentinel = 0;  // the first; those after it are the ids below it
  std::int64_t sentinels = 0;
};

// Tokens of a window, and the longest inputs and targets that it gives. UsageError in the names of
// a recipe's fields under data:, after `where`, for settings that do not fit each other: lengths
// with no room, targets longer than targets_length, fewer sentinels than spans.
struct TextLengths {
  std::int64_t tokens = 0, inputs = 0, targets = 0;
};
TextLengths text_lengths(const TextToText& settings, const std::string& where);

// Of the features inputs and targets, in this order, padded with zeros. In iid_denoise_text no span
// begins that the targets have no room for; of how many windows that was so is logged.
WindowTransform text_to_text(const TextToText& settings);

}  // namespace smelt
