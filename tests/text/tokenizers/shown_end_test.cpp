// The end of the text to display for pieces.
#include <gtest/gtest.h>

#include "text/tokenizers/tokenizer.h"

namespace smelt::text {
namespace {

TEST(ShownEnd, IncludesCombiningMarksOutsideAnyPiece) {
  const std::string accent = "cafe\u0301 au lait";
  const std::vector<TokenSpan> words{{1, 0, 4}, {2, 7, 9}, {3, 10, 14}};
  EXPECT_EQ(shown_end(accent, words, 0), 6u);
  EXPECT_EQ(shown_end(accent, words, 1), 9u);
  EXPECT_EQ(shown_end(accent, words, 2), 14u);
  const std::string syllable = "\u1112\u1161\u11ab";  // one Korean syllable of three letters
  EXPECT_EQ(shown_end(syllable, std::vector<TokenSpan>{{1, 0, 3}}, 0), 9u);
}

TEST(ShownEnd, StopsAtTheNextPiece) {
  const std::string syllable = "\u0915\u093f";  // a Hindi consonant and its vowel sign
  const std::vector<TokenSpan> pieces{{1, 0, 3}, {2, 3, 6}};
  EXPECT_EQ(shown_end(syllable, pieces, 0), 3u);
}

}  // namespace
}  // namespace smelt::text
