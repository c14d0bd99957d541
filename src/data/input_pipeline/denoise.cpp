#include "data/input_pipeline/denoise.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace smelt::data {
namespace {

// Divides `items` items into `segments` parts. Returns one flag per item: 1 if a part begins there.
// All divisions are equally likely (Knuth, Algorithm S).
std::vector<std::uint8_t> segment_begins(std::int64_t items, std::int64_t segments,
                                         StreamRandom& random) {
  std::vector<std::uint8_t> begins(static_cast<std::size_t>(items), 0);
  std::int64_t left = segments - 1;
  begins[0] = 1;
  for (std::int64_t item = 1; item < items && left > 0; ++item)
    if (random.below(static_cast<std::uint32_t>(items - item)) < left) {
      begins[static_cast<std::size_t>(item)] = 1;
      --left;
    }
  return begins;
}

std::vector<std::int32_t> runs_to_sentinels(std::span<const std::int32_t> tokens,
                                            const NoiseMask& noise, std::uint8_t replaced,
                                            std::int32_t sentinel) {
  CHECK(tokens.size() == noise.size(), tokens.size(), noise.size());
  std::vector<std::int32_t> out;
  out.reserve(tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (noise[i] != replaced)
      out.push_back(tokens[i]);
    else if (i == 0 || noise[i - 1] != replaced)
      out.push_back(sentinel--);
  }
  return out;
}

}  // namespace

SpanCounts random_spans_counts(std::int64_t length, double density, double mean_span) {
  const auto rounded = [](float x) { return static_cast<std::int64_t>(std::nearbyint(x)); };
  SpanCounts out;
  out.noise_tokens = rounded(static_cast<float>(length) * static_cast<float>(density));
  out.noise_tokens = std::clamp<std::int64_t>(out.noise_tokens, 1, length - 1);
  out.spans = rounded(static_cast<float>(out.noise_tokens) / static_cast<float>(mean_span));
  out.spans =
      std::clamp<std::int64_t>(out.spans, 1, std::min(out.noise_tokens, length - out.noise_tokens));
  return out;
}

NoiseMask random_spans_noise_mask(std::int64_t length, double density, double mean_span,
                                  StreamRandom& random) {
  NoiseMask noise(static_cast<std::size_t>(length), 0);
  if (length < 2 || density == 0) return noise;
  const SpanCounts counts = random_spans_counts(length, density, mean_span);
  const auto of_noise = segment_begins(counts.noise_tokens, counts.spans, random);
  const auto of_text = segment_begins(length - counts.noise_tokens, counts.spans, random);
  std::size_t at = 0, noise_at = 0, text_at = 0;
  const auto take = [&](const std::vector<std::uint8_t>& begins, std::size_t& from,
                        std::uint8_t value) {
    do noise[at++] = value;
    while (++from < begins.size() && begins[from] == 0);
  };
  while (at < noise.size()) {
    take(of_text, text_at, 0);
    take(of_noise, noise_at, 1);
  }
  return noise;
}

std::vector<std::int32_t> noise_spans_to_sentinels(std::span<const std::int32_t> tokens,
                                                   const NoiseMask& noise, std::int32_t sentinel) {
  return runs_to_sentinels(tokens, noise, 1, sentinel);
}

std::vector<std::int32_t> text_spans_to_sentinels(std::span<const std::int32_t> tokens,
                                                  const NoiseMask& noise, std::int32_t sentinel) {
  return runs_to_sentinels(tokens, noise, 0, sentinel);
}

SpanLengths random_spans_lengths(std::int64_t inputs, double density, double mean_span) {
  const auto lengths = [&](std::int64_t tokens) {
    const auto noise =
        static_cast<std::int64_t>(std::nearbyint(static_cast<double>(tokens) * density));
    const auto spans =
        static_cast<std::int64_t>(std::nearbyint(static_cast<double>(noise) / mean_span));
    return SpanLengths{tokens, tokens - noise + spans + 1, noise + spans + 1};
  };
  SpanLengths out = lengths(inputs - 1);
  for (SpanLengths next = lengths(out.tokens + 1); next.inputs <= inputs;
       next = lengths(out.tokens + 1))
    out = next;
  // If half of the tokens are noise, the targets must not be longer than the inputs.
  if (density == 0.5 && out.targets > out.inputs) {
    --out.tokens;
    --out.targets;
  }
  return out;
}

}  // namespace smelt::data
