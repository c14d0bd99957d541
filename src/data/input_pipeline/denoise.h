// Adds noise to tokens and builds inputs and targets, like T5's preprocessors.py (Raffel et al.
// 2020, section 3.1.4) and ttt's iid_denoise_text. Adds neither padding nor end of sequence tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/stream_random.h"

namespace smelt::data {

// One value per token: 1 if the token is noise, 0 otherwise.
using NoiseMask = std::vector<std::uint8_t>;

struct SpanCounts {
  std::int64_t noise_tokens = 0, spans = 0;
};
// Returns the number of noise tokens and spans for a text of `length` tokens: round(length *
// density) tokens, at least 1 and fewer than `length`, in round(tokens / mean_span) spans, at
// least 1. Rounds halves to even in f32, like T5.
SpanCounts random_spans_counts(std::int64_t length, double density, double mean_span);

// Draws T5's random_spans_noise_mask: text and noise spans alternate, text first, and all ways to
// partition the text into that number of spans are equally likely. A text of one token has no
// noise.
NoiseMask random_spans_noise_mask(std::int64_t length, double density, double mean_span,
                                  StreamRandom& random);

// Replaces each run of noise by one sentinel: `sentinel` first, then descending ids.
std::vector<std::int32_t> noise_spans_to_sentinels(std::span<const std::int32_t> tokens,
                                                   const NoiseMask& noise, std::int32_t sentinel);
// Replaces each run of tokens that are not noise by one sentinel.
std::vector<std::int32_t> text_spans_to_sentinels(std::span<const std::int32_t> tokens,
                                                  const NoiseMask& noise, std::int32_t sentinel);

// The result of T5's random_spans_helper: the largest number of tokens whose inputs, with a
// sentinel per span and an end of sequence, fit in the input length, and the length of their
// targets.
struct SpanLengths {
  std::int64_t tokens = 0, inputs = 0, targets = 0;
};
SpanLengths random_spans_lengths(std::int64_t inputs, double density, double mean_span);

struct SourceAndTarget {
  std::vector<std::int32_t> source, target;
  // True if spans were left as text because the target was full or all sentinels were used.
  bool stopped = false;
};

// Applies ttt's iid_denoise_text: at each token outside a span, a span of `span` tokens begins with
// probability `density`. A span that begins directly after another span or at the beginning of the
// text has a sentinel in the source, but none in the target. `draw` returns a random number in [0,
// 1) for each token outside a span. Unlike the original, no span begins if the target would exceed
// `most` tokens or if all `sentinels` are used.
template <class Draw>
SourceAndTarget iid_denoise_text(std::span<const std::int32_t> tokens, std::int64_t span,
                                 double density, std::int32_t sentinel, std::int64_t sentinels,
                                 std::int64_t most, Draw&& draw) {
  SourceAndTarget out;
  const std::int64_t size = std::ssize(tokens);
  std::int64_t spans = 0, span_end = 0;
  for (std::int64_t at = 0; at < size;) {
    if (!(draw() < density)) {
      out.source.push_back(tokens[static_cast<std::size_t>(at++)]);
      continue;
    }
    const std::int64_t end = std::min(at + span, size), mark = at == span_end ? 0 : 1;
    if (spans == sentinels || std::ssize(out.target) + mark + end - at > most) {
      out.stopped = true;
      out.source.push_back(tokens[static_cast<std::size_t>(at++)]);
      continue;
    }
    const std::int32_t id = sentinel - static_cast<std::int32_t>(spans++);
    out.source.push_back(id);
    if (mark == 1) out.target.push_back(id);
    for (; at < end; ++at) out.target.push_back(tokens[static_cast<std::size_t>(at)]);
    span_end = end;
  }
  if (out.target.empty() && most > 0) out.target.push_back(sentinel);
  return out;
}

}  // namespace smelt::data
