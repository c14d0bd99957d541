#include "base/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace smelt {
namespace {

using testing::ElementsAre;

// Every literal below was printed by CPython 3.11's random.Random.
TEST(PythonRandom, SeedsLikeCPythonForSeedsOfAnySize) {
  const auto first_three = [](std::int64_t seed) {
    PythonRandom rng(seed);
    const std::uint32_t a = rng.random_bits(32), b = rng.random_bits(32);
    return std::vector<std::uint32_t>{a, b, rng.random_bits(32)};
  };
  EXPECT_THAT(first_three(0), ElementsAre(3626764237u, 1654615998u, 3255389356u));
  EXPECT_THAT(first_three(1), ElementsAre(577090037u, 2444712010u, 3639700191u));
  EXPECT_THAT(first_three(12345), ElementsAre(1789368711u, 3146859322u, 43676229u));
  EXPECT_THAT(first_three(4294967296), ElementsAre(485306839u, 1508871100u, 1794561286u));
  EXPECT_THAT(first_three(1099511627783), ElementsAre(2635837658u, 3209733218u, 3500038837u));
  EXPECT_THAT(first_three(-5), ElementsAre(2675342405u, 1097127993u, 3185950873u));
  EXPECT_EQ(first_three(-5), first_three(5));
}

TEST(PythonRandom, DrawsTheSameNumbersAsCPython) {
  PythonRandom rng(12345);
  for (const double want :
       {0.41661987254534116, 0.010169169457068361, 0.8252065092537432, 0.2986398551995928})
    EXPECT_EQ(rng.random(), want);
  for (const std::int64_t want : {12072, 6345, 8855, 18546, 14294, 5298})
    EXPECT_EQ(rng.randint(0, 30521), want);
  EXPECT_EQ(rng.random_bits(1), 0u);
  EXPECT_EQ(rng.random_bits(5), 3u);
  EXPECT_EQ(rng.random_bits(31), 1877275096u);
  EXPECT_EQ(rng.random_bits(32), 1859447115u);
}

TEST(PythonRandom, DrawsBelowALimitLikeCPython) {
  PythonRandom rng(7);
  std::vector<std::uint32_t> draws;
  for (const std::uint32_t limit : {1u, 1u, 2u, 3u, 5u, 1000u, 1u << 31})
    draws.push_back(rng.below(limit));
  EXPECT_THAT(draws, ElementsAre(0u, 0u, 1u, 2u, 0u, 74u, 404285457u));
}

TEST(PythonRandom, ShufflesLikeCPython) {
  PythonRandom rng(42);
  std::vector<int> items(12);
  std::iota(items.begin(), items.end(), 0);
  rng.shuffle(std::span(items));
  EXPECT_THAT(items, ElementsAre(7, 5, 2, 8, 9, 6, 11, 3, 4, 0, 1, 10));
  EXPECT_EQ(rng.random_bits(32), 136505587u);
}

TEST(PythonRandom, MatchesCPythonAfterAHundredThousandDraws) {
  PythonRandom rng(5);
  std::uint32_t mixed = 0;
  for (int i = 0; i < 100000; ++i) mixed ^= rng.random_bits(32);
  EXPECT_EQ(mixed, 182799462u);
  EXPECT_EQ(rng.random(), 0x1.8e986ce581026p-1);
}

}  // namespace
}  // namespace smelt
