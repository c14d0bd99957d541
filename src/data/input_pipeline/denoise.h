// Noise in a text's tokens, and the inputs and targets that it gives, as T5's preprocessors.py
// (Raffel et al. 2020, section 3.1.4) and ttt's iid_denoise_text have them. Ids only: neither
// padding nor ends of sequences.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/stream_random.h"

namespace smelt {

// One for each token; 1: noise.
using NoiseMask = std::vector<std::uint8_t>;

struct SpanCounts {
  std::int64_t noise_tokens = 0, spans = 0;
};
// Of a text of `length` tokens: round(length * density) tokens, but at least 1 and not all, in
// round(tokens / mean_span) spans, at least 1. Halves are rounded to even, in f32 as there.
SpanCounts random_spans_counts(std::int64_t length, double density, double mean_span);

// T5's random_spans_noise_mask: spans of noise and of text take turns, text first; all ways to cut
// both into that many spans are equally likely. A text of one token has none.
NoiseMask random_spans_noise_mask(std::int64_t length, double density, double mean_span,
                                  StreamRandom& random);

// Each run of noise becomes one sentinel: the first `sentinel`, the next the id below it, …
std::vector<std::int32_t> noise_spans_to_sentinels(std::span<const std::int32_t> tokens,
                                                   const NoiseMask& noise, std::int32_t sentinel);
// The same of the runs that are no noise.
std::vector<std::int32_t> text_spans_to_sentinels(std::span<const std::int32_t> tokens,
                                                  const NoiseMask& noise, std::int32_t sentinel);

// T5's random_spans_helper: the most tokens whose inputs, with a sentinel for each span and an
// end of sequence, are no longer than `inputs`, and the length of their targets.
struct SpanLengths {
  std::int64_t tokens = 0, inputs = 0, targets = 0;
};
SpanLengths random_spans_lengths(std::int64_t inputs, double density, double mean_span);

struct SourceAndTarget {
  std::vector<std::int32_t> source, target;
  bool stopped = false;  // there was no room, or no sentinel, for all spans that were drawn
};

// ttt's iid_denoise_text: from each token that is in no span yet, a span of `span` tokens begins
// with probability `density`. One that begins where another ends, or the text does, has a sentinel
// in the source and none in the target. `draw` gives numbers in [0, 1), one for each such token. No
// span begins that the target has no room for, `most` tokens in all, or for which no sentinel is
// left of `sentinels`; the original knows neither limit.
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

}  // namespace smelt
