// Converts windows of tokens to inputs and targets, for the pre-training objectives of T5 and ttt.
#pragma once

#include <cstdint>

#include "base/choice.h"
#include "io/formats/window_transform.h"

namespace smelt::data {

enum class TextObjective {
  span_corruption,   // T5: noise spans replaced by sentinels (t5.data.preprocessors)
  iid_denoise_text,  // ttt: noise spans of a fixed length that begin anywhere
  prefix_lm,         // T5: a prefix of random length, and the text after it
  lm  // the text is the target, with its end of sequence; the input is only an end of sequence
};
inline constexpr NamedValues<TextObjective, 4> kTextObjectives{
    {{"span_corruption", TextObjective::span_corruption},
     {"iid_denoise_text", TextObjective::iid_denoise_text},
     {"prefix_lm", TextObjective::prefix_lm},
     {"lm", TextObjective::lm}}};
constexpr const NamedValues<TextObjective, 4>& words_of(TextObjective) { return kTextObjectives; }

struct TextToText {
  TextObjective objective = TextObjective::span_corruption;
  std::int64_t inputs_length = 512;  // including the end of sequence
  std::int64_t targets_length = 0;   // including the end of sequence; 0: as long as needed
  double noise_density = 0.15;
  double mean_noise_span_length = 3;  // for iid_denoise_text the length of every span, an integer
  bool across_documents = true;
  std::int32_t end = 1;       // id of the end of sequence
  std::int32_t sentinel = 0;  // id of the first sentinel; the others have descending ids
  std::int64_t sentinels = 0;
};

// The number of tokens of a window, and the maximum lengths of its inputs and targets.
struct TextLengths {
  std::int64_t tokens = 0, inputs = 0, targets = 0;
};
// Returns the lengths for these settings. Throws UsageError, which begins with `where` and names
// the fields of a recipe's section data, if settings contradict each other: lengths are too short,
// targets are longer than targets_length, or there are fewer sentinels than spans.
TextLengths text_lengths(const TextToText& settings, const std::string& where);

// Returns a transform to the features inputs and targets, in this order, padded with zeros. For
// iid_denoise_text, spans that do not fit in the targets are dropped; the number of affected
// windows is logged.
io::WindowTransform text_to_text(const TextToText& settings);

}  // namespace smelt::data
