#include "text/readers/duplicates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "base/str.h"
#include "base/stream_random.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

std::set<std::vector<int>> runs_of_five(const std::vector<int>& words) {
  std::set<std::vector<int>> out;
  for (std::size_t i = 0; i + 5 <= words.size(); ++i)
    out.insert({words.begin() + i, words.begin() + i + 5});
  return out;
}

double jaccard(const std::vector<int>& a, const std::vector<int>& b) {
  const auto x = runs_of_five(a), y = runs_of_five(b);
  std::size_t common = 0;
  for (const auto& run : x) common += y.count(run);
  return static_cast<double>(common) / static_cast<double>(x.size() + y.size() - common);
}

// Compares with the true similarity. MinHash estimates it from 64 hashes, so texts are only checked
// if they are five standard deviations away from the threshold 0.8.
TEST(NearDuplicates, AreFoundByCommonFiveWordShingles) {
  StreamRandom random(5, 0, 0);
  int near = 0, far = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<int> first;
    for (int i = 0; i < 200; ++i) first.push_back(static_cast<int>(random.below(5000)));
    std::vector<int> second = first;
    for (std::int64_t changes = random.randint(0, 30); changes > 0; --changes)
      second[random.below(200)] = static_cast<int>(random.below(5000));
    NearDuplicates duplicates;
    EXPECT_FALSE(duplicates.seen(join(first, " ")));
    const double similarity = jaccard(first, second);
    const double deviation = std::sqrt(similarity * (1 - similarity) / 64);
    const bool seen = duplicates.seen(join(second, "\n"));
    if (similarity > 0.8 + 5 * deviation) {
      EXPECT_TRUE(seen) << similarity;
      ++near;
    } else if (similarity < 0.8 - 5 * deviation) {
      EXPECT_FALSE(seen) << similarity;
      ++far;
    }
  }
  EXPECT_GT(near, 10);
  EXPECT_GT(far, 50);
}

TEST(NearDuplicates, ShortTextsAreComparedByCharacters) {
  NearDuplicates duplicates;
  EXPECT_FALSE(duplicates.seen("Internationalization of applications"));
  EXPECT_TRUE(duplicates.seen("internationalization  of application"));
  EXPECT_FALSE(duplicates.seen("Localization of applications"));
  EXPECT_FALSE(duplicates.seen("응용프로그램을 국제화하기 위한 안내서입니다"));
  EXPECT_TRUE(duplicates.seen("응용프로그램을 국제화하기 위한 안내서입니다."));
  EXPECT_FALSE(duplicates.seen("Page 1 of 20"));
  EXPECT_FALSE(duplicates.seen("Page 2 of 20"));
}

TEST(NearDuplicates, VeryShortTextsMustHaveTheSameWords) {
  NearDuplicates duplicates;
  EXPECT_FALSE(duplicates.seen("a b c"));
  EXPECT_TRUE(duplicates.seen("A  b\nc"));
  EXPECT_FALSE(duplicates.seen("a b d"));
  EXPECT_FALSE(duplicates.seen(""));
  EXPECT_TRUE(duplicates.seen(" "));
}

// Two texts of 400 characters without spaces that differ in one character, and a different third
// text.
TEST(NearDuplicates, AreFoundInLanguagesWithoutSpaces) {
  for (const char32_t first : {U'\u4e00', U'\u3042', U'\u0e01'}) {
    StreamRandom random(9, 0, 0);
    const auto text = [&](int characters) {
      std::string out;
      for (int i = 0; i < characters; ++i)
        append_utf8(first + random.below(first == U'\u4e00' ? 3000 : 40), out);
      return out;
    };
    const std::string before = text(200), after = text(200), other = text(400);
    NearDuplicates duplicates;
    EXPECT_FALSE(duplicates.seen(before + after));
    EXPECT_TRUE(duplicates.seen(before + text(1) + after.substr(3)));
    EXPECT_FALSE(duplicates.seen(other));
  }
}

// With room for four texts, the older two are dropped when a fifth is added.
template <class Duplicates>
void expect_forgetting() {
  Duplicates few(4 * Duplicates::kBytesOfText);
  for (const char* text : {"a", "b", "c", "d"}) EXPECT_FALSE(few.seen(text));
  EXPECT_TRUE(few.seen("a"));
  EXPECT_FALSE(few.forgot());
  EXPECT_FALSE(few.seen("e"));
  EXPECT_TRUE(few.forgot());
  EXPECT_EQ(few.reach(), 2u);
  EXPECT_TRUE(few.seen("c"));
  EXPECT_TRUE(few.seen("d"));
  EXPECT_FALSE(few.seen("a"));
}

TEST(Duplicates, ForgetTheOldestTextsAtTheMemoryLimit) {
  expect_forgetting<ExactDuplicates>();
  expect_forgetting<NearDuplicates>();
}

// Two generations that hold all texts find the same duplicates as one.
TEST(NearDuplicates, DoNotDependOnTheGenerationBoundary) {
  StreamRandom random(7, 0, 0);
  NearDuplicates one, cut(260 * NearDuplicates::kBytesOfText);
  std::vector<std::string> texts;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int word = 0; word < 30; ++word) text += str(random.below(300), " ");
    if (i % 2 == 1) text = texts[random.below(static_cast<std::uint32_t>(i))];
    texts.push_back(text);
    EXPECT_EQ(one.seen(text), cut.seen(text)) << i;
  }
  EXPECT_FALSE(cut.forgot());
}

}  // namespace
}  // namespace smelt::text
