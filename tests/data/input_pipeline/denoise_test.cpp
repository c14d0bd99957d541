// Compares noise with T5's preprocessors.py and ttt's iid_denoise_text (tools/golden_denoise.py).
#include "data/input_pipeline/denoise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/json.h"
#include "base/random.h"
#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using Ids = std::vector<std::int32_t>;

const Json& golden_denoise() {
  static const Json kFacts = Json::parse(io::read_file(source_path("tests/golden/denoise.json")));
  return kFacts;
}

Ids counted_from(std::int32_t first, std::size_t count) {
  Ids out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

SpanCounts counts_of(const NoiseMask& noise) {
  SpanCounts out;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    out.noise_tokens += noise[i];
    out.spans += noise[i] == 1 && (i == 0 || noise[i - 1] == 0) ? 1 : 0;
  }
  return out;
}

TEST(Denoise, LengthsMatchT5) {
  EXPECT_EQ(golden_denoise()["lengths"].size(), 9u);
  for (const auto& c : golden_denoise()["lengths"]) {
    const SpanLengths got = random_spans_lengths(c[0], c[1], c[2]);
    EXPECT_EQ(got.tokens, c[3]) << c;
    EXPECT_EQ(got.targets, c[4]) << c;
  }
}

TEST(Denoise, MasksHaveTheTokenAndSpanCountsOfT5) {
  EXPECT_GE(golden_denoise()["counts"].size(), 90u);
  for (const auto& c : golden_denoise()["counts"]) {
    StreamRandom random(1, c[0], 0);
    const NoiseMask noise = random_spans_noise_mask(c[0], c[1], c[2], random);
    ASSERT_EQ(std::ssize(noise), c[0]);
    EXPECT_EQ(counts_of(noise).noise_tokens, c[3]) << c;
    EXPECT_EQ(counts_of(noise).spans, c[4]) << c;
    EXPECT_EQ(noise.front(), 0);
    EXPECT_EQ(noise.back(), 1);
  }
}

TEST(Denoise, AllMasksAreEquallyLikely) {
  constexpr int kDraws = 18000;
  std::map<NoiseMask, int> seen;
  for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
    StreamRandom random(7, draw, 0);
    ++seen[random_spans_noise_mask(8, 0.5, 2, random)];
  }
  ASSERT_EQ(seen.size(), 9u);  // two cuts of four tokens in two, each in three places
  double chi_square = 0;
  for (const auto& [noise, count] : seen) chi_square += std::pow(count - kDraws / 9.0, 2);
  EXPECT_LT(chi_square / (kDraws / 9.0), 26.1);  // 8 degrees of freedom, one in a thousand
}

TEST(Denoise, InputsAndTargetsMatchT5) {
  EXPECT_EQ(golden_denoise()["masks"].size(), 12u);
  for (const auto& c : golden_denoise()["masks"]) {
    NoiseMask noise;
    for (const char bit : c["noise"].get<std::string>())
      noise.push_back(static_cast<std::uint8_t>(bit - '0'));
    const Ids tokens = counted_from(1000, noise.size());
    const std::int32_t sentinel = golden_denoise()["sentinel"];
    EXPECT_EQ(noise_spans_to_sentinels(tokens, noise, sentinel), c["inputs"].get<Ids>()) << c;
    EXPECT_EQ(text_spans_to_sentinels(tokens, noise, sentinel), c["targets"].get<Ids>()) << c;
  }
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

TEST(Denoise, IidDenoiseTextMatchesTtt) {
  EXPECT_EQ(golden_denoise()["ttt"].size(), 8u);
  for (const auto& c : golden_denoise()["ttt"]) {
    PythonRandom random(c["seed"]);
    const auto got = iid_denoise_text(counted_from(0, c["tokens"]), c["span"], c["density"],
                                      golden_denoise()["sentinel"], kNoLimit, kNoLimit,
                                      [&] { return random.random(); });
    EXPECT_EQ(got.source, c["source"].get<Ids>()) << c;
    EXPECT_EQ(got.target, c["target"].get<Ids>()) << c;
    EXPECT_FALSE(got.stopped);
  }
}

TEST(Denoise, StopsAtTheTargetLengthAndAfterTheLastSentinel) {
  const auto always = [] { return 0.0; };
  const Ids tokens = counted_from(0, 9);
  const auto short_target = iid_denoise_text(tokens, 2, 0.5, 99, kNoLimit, 5, always);
  EXPECT_EQ(short_target.source, (Ids{99, 98, 4, 5, 6, 7, 8}));
  EXPECT_EQ(short_target.target, (Ids{0, 1, 2, 3}));
  EXPECT_TRUE(short_target.stopped);
  const auto one_sentinel = iid_denoise_text(tokens, 2, 0.5, 99, 1, kNoLimit, always);
  EXPECT_EQ(one_sentinel.source, (Ids{99, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(one_sentinel.target, (Ids{0, 1}));
  EXPECT_TRUE(one_sentinel.stopped);
}

}  // namespace
}  // namespace smelt::data
