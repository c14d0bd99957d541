#include "data/input_pipeline/text_to_text.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "data/input_pipeline/denoise.h"

namespace smelt::data {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::int64_t kMostWindowTokens = 1 << 20;

struct InputsAndTargets {
  Ids inputs, targets;
};

void require_text(bool fine, const std::string& what, const std::string& hint) {
  if (!fine) throw UsageError(what, hint);
}

// Counts windows whose targets had no room for all noise. Logs the count when it reaches 1, 10,
// 100, …
class StoppedWindows {
 public:
  void count(std::int64_t targets_length) {
    const std::uint64_t now = ++count_;
    std::uint64_t power = 1;
    while (power < now) power *= 10;
    if (now != power) return;
    log_warning(
        "data: in {} window(s) the noise did not fit in data.targets_length {} or in the "
        "sentinels; the rest of the noise was left as text",
        now, targets_length);
  }

 private:
  std::atomic<std::uint64_t> count_ = 0;
};

InputsAndTargets span_corrupted(const TextToText& o, std::span<const std::int32_t> window,
                                StreamRandom& random) {
  const NoiseMask noise = random_spans_noise_mask(std::ssize(window), o.noise_density,
                                                  o.mean_noise_span_length, random);
  InputsAndTargets out{.inputs = noise_spans_to_sentinels(window, noise, o.sentinel),
                       .targets = text_spans_to_sentinels(window, noise, o.sentinel)};
  out.inputs.push_back(o.end);
  out.targets.push_back(o.end);
  return out;
}

InputsAndTargets iid_denoised(const TextToText& o, const TextLengths& lengths,
                              std::span<const std::int32_t> window, StreamRandom& random,
                              StoppedWindows& stopped) {
  auto found = iid_denoise_text(window, static_cast<std::int64_t>(o.mean_noise_span_length),
                                o.noise_density, o.sentinel, o.sentinels, lengths.targets - 1,
                                [&] { return random.random(); });
  if (found.stopped) stopped.count(lengths.targets);
  found.target.push_back(o.end);
  return {.inputs = std::move(found.source), .targets = std::move(found.target)};
}

// Splits a window at a random position. A window of one token is all prefix.
InputsAndTargets prefixed(const TextToText& o, std::span<const std::int32_t> window,
                          StreamRandom& random) {
  const std::int64_t size = std::ssize(window);
  const std::int64_t prefix = size < 2 ? size : random.randint(1, size - 1);
  const auto middle = window.begin() + prefix;
  InputsAndTargets out{.inputs = Ids(window.begin(), middle), .targets = Ids(middle, window.end())};
  out.inputs.push_back(o.end);
  out.targets.push_back(o.end);
  return out;
}

InputsAndTargets made_of(const TextToText& o, const TextLengths& lengths,
                         std::span<const std::int32_t> window, StreamRandom& random,
                         StoppedWindows& stopped) {
  switch (o.objective) {
    case TextObjective::span_corruption:
      return span_corrupted(o, window, random);
    case TextObjective::iid_denoise_text:
      return iid_denoised(o, lengths, window, random, stopped);
    case TextObjective::prefix_lm:
      return prefixed(o, window, random);
    case TextObjective::lm:
      break;
  }
  return {.inputs = {o.end}, .targets = Ids(window.begin(), window.end())};
}

void put_ids(const Ids& ids, std::span<std::int32_t> array) {
  CHECK(ids.size() <= array.size(), ids.size(), array.size());
  std::ranges::copy(ids, array.begin());
}

// Returns the lengths for the longest windows whose inputs fit. Both lengths grow with the window.
TextLengths span_lengths(const TextToText& o, const std::string& where) {
  const auto spans_of = [&](std::int64_t tokens) {
    return random_spans_counts(tokens, o.noise_density, o.mean_noise_span_length);
  };
  const auto inputs_of = [&](std::int64_t tokens) {
    const SpanCounts spans = spans_of(tokens);
    return tokens - spans.noise_tokens + spans.spans + 1;
  };
  // Average number of input tokens per token of text.
  const double left = 1 - o.noise_density + o.noise_density / o.mean_noise_span_length;
  require_text(static_cast<double>(o.inputs_length) < left * kMostWindowTokens,
               str(where, "data.noise_density ", o.noise_density,
                   " leaves almost no text in the inputs: ", o.inputs_length,
                   " input tokens need a window of more than ", kMostWindowTokens, " tokens"),
               "lower data.noise_density or data.mean_noise_span_length");
  std::int64_t tokens =
      random_spans_lengths(o.inputs_length, o.noise_density, o.mean_noise_span_length).tokens;
  while (inputs_of(tokens) > o.inputs_length) --tokens;  // f32 rounding may add a token
  const SpanCounts spans = spans_of(tokens);
  require_text(spans.spans <= o.sentinels,
               str(where, "windows of ", tokens, " tokens have ", spans.spans,
                   " spans of noise, but the vocabulary has only ", o.sentinels, " sentinels"),
               "raise data.extra_ids or data.mean_noise_span_length, or lower data.noise_density");
  return {tokens, o.inputs_length, spans.noise_tokens + spans.spans + 1};
}

// Returns a target length that has room for the average number of spans plus four standard
// deviations.
std::int64_t iid_targets_length(const TextToText& o) {
  const double span = o.mean_noise_span_length, rate = o.noise_density;
  const double mean = static_cast<double>(o.inputs_length) * rate / (1 + (span - 1) * rate);
  const double most = std::min(static_cast<double>(o.sentinels), mean + 4 * std::sqrt(mean));
  return static_cast<std::int64_t>(std::ceil(most) * (span + 1)) + 1;
}

TextLengths iid_lengths(const TextToText& o, const std::string& where) {
  require_text(o.sentinels > 0, str(where, "the vocabulary has no sentinels"),
               "raise data.extra_ids");
  require_text(o.mean_noise_span_length == std::floor(o.mean_noise_span_length),
               str(where, "data.mean_noise_span_length is ", o.mean_noise_span_length,
                   ", must be an integer for iid_denoise_text"),
               "3 is the original's default");
  return {o.inputs_length, o.inputs_length,
          o.targets_length > 0 ? o.targets_length : iid_targets_length(o)};
}

TextLengths lengths_needed(const TextToText& o, const std::string& where) {
  switch (o.objective) {
    case TextObjective::span_corruption:
      return span_lengths(o, where);
    case TextObjective::iid_denoise_text:
      return iid_lengths(o, where);
    case TextObjective::prefix_lm:
      return {o.inputs_length - 1, o.inputs_length, o.inputs_length};
    case TextObjective::lm:
      break;
  }
  return {o.targets_length, 1, o.targets_length};
}

}  // namespace

TextLengths text_lengths(const TextToText& o, const std::string& where) {
  require_text(
      o.noise_density > 0 && o.noise_density < 1,
      str(where, "data.noise_density is ", o.noise_density, ", must be above 0 and below 1"),
      "0.15 is T5's");
  require_text(o.mean_noise_span_length >= 1,
               str(where, "data.mean_noise_span_length is ", o.mean_noise_span_length,
                   ", must be at least 1"),
               "3 is T5's");
  const bool lm = o.objective == TextObjective::lm;
  require_text(lm || o.inputs_length >= 4,
               str(where, "data.inputs_length is ", o.inputs_length, ", must be at least 4"),
               "512 is T5's");
  require_text(!lm || o.targets_length >= 1,
               str(where, "data.targets_length is ", o.targets_length,
                   ", but plain text needs a positive target length"),
               "512 is T5's");
  TextLengths out = lengths_needed(o, where);
  require_text(o.targets_length == 0 || out.targets <= o.targets_length,
               str(where, "targets become ", out.targets, " tokens long, data.targets_length is ",
                   o.targets_length),
               str("raise data.targets_length to ", out.targets, " or lower data.noise_density"));
  if (o.targets_length > 0) out.targets = o.targets_length;
  return out;
}

io::WindowTransform text_to_text(const TextToText& o) {
  const TextLengths lengths = text_lengths(o, "");
  io::WindowTransform out;
  out.tokens = lengths.tokens;
  out.across_documents = o.across_documents;
  out.settings = {{"objective", std::string(word_of(o.objective, kTextObjectives))},
                  {"noise_density", o.noise_density},
                  {"mean_noise_span_length", o.mean_noise_span_length},
                  {"across_documents", o.across_documents},
                  {"end", o.end},
                  {"sentinel", o.sentinel},
                  {"sentinels", o.sentinels}};
  const auto stopped = std::make_shared<StoppedWindows>();
  out.make = [o, lengths, stopped](std::span<const std::int32_t> window, const io::WindowKey& key,
                                   io::WindowTransform::Arrays example) {
    StreamRandom random(key.key, key.place, 0);
    const InputsAndTargets made = made_of(o, lengths, window, random, *stopped);
    put_ids(made.inputs, example[0]);
    put_ids(made.targets, example[1]);
  };
  return out;
}

}  // namespace smelt::data
