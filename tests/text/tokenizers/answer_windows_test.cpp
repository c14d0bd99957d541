// Windows of a question and a long text, and the window with the most context for each piece,
// compared with google-research/bert run_squad.py, _check_is_max_context.
#include "text/tokenizers/answer_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"

namespace smelt::text {
namespace {

const BertTokenizer& letters() {
  static const BertTokenizer tokenizer(
      Vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "f"}), {});
  return tokenizer;
}

std::string shown(const AnswerWindow& window) {
  std::string out;
  for (std::size_t i = 0; i < window.ids.ids.size(); ++i)
    out += (i == window.ids.first ? "| " : "") + letters().token(window.ids.ids[i]) + " ";
  return out;
}

TEST(AnswerWindows, ContainTheQuestionAndOverlap) {
  const AnswerWindowEncoder encoder(letters(), 9, {.question_tokens = 2, .stride = 2});
  const AnswerWindows all = encoder.encode("f e d", "a b  c d e f");
  ASSERT_EQ(all.windows.size(), 2u);
  EXPECT_EQ(all.cut, 1u);
  EXPECT_EQ(shown(all.windows[0]), "[CLS] f e [SEP] | a b c d [SEP] ");
  EXPECT_EQ(shown(all.windows[1]), "[CLS] f e [SEP] | c d e f [SEP] ");
  EXPECT_EQ(all.windows[1].first, 2u);
  EXPECT_THAT(all.windows[1].ids.words, testing::ElementsAre(0, 4, 5, 6, 7));
  EXPECT_EQ(all.pieces.at(2).begin, 5u);
  // A stride larger than the window is reduced to the window.
  const AnswerWindowEncoder far(letters(), 9, {.question_tokens = 2, .stride = 99});
  EXPECT_EQ(shown(far.encode("f", "a b c d e f").windows[1]), "[CLS] f [SEP] | f [SEP] ");
  EXPECT_TRUE(encoder.encode("f", " \t").windows.empty());
}

TEST(AnswerWindows, AssignsAPieceToTheWindowWithMostContext) {
  for (const std::size_t pieces : {1U, 7U, 20U, 33U})
    for (const std::int64_t stride : {1, 3, 8, 50}) {
      const AnswerWindowEncoder encoder(letters(), 15, {.question_tokens = 4, .stride = stride});
      std::string text;
      for (std::size_t i = 0; i < pieces; ++i) text += "a ";
      const AnswerWindows all = encoder.encode("b c", text);
      for (std::size_t at = 0; at < pieces; ++at) {
        double best = -1;
        std::size_t best_window = 0, said = 0;
        for (std::size_t w = 0; w < all.windows.size(); ++w) {
          const AnswerWindow& window = all.windows[w];
          const std::size_t length = window.is_best.size();
          if (at < window.first || at >= window.first + length) continue;
          const std::size_t left = at - window.first, right = window.first + length - 1 - at;
          const double score =
              static_cast<double>(std::min(left, right)) + 0.01 * static_cast<double>(length);
          if (score > best) {
            best = score;
            best_window = w;
          }
          if (window.is_best[left]) said = w;
        }
        EXPECT_EQ(said, best_window) << pieces << " " << stride << " " << at;
      }
    }
}

TEST(AnswerWindows, ThrowsIfTheQuestionLeavesNoRoom) {
  EXPECT_THAT(error_of<UsageError>(
                  [] { AnswerWindowEncoder(letters(), 9, {.question_tokens = 6, .stride = 1}); }),
              testing::HasSubstr("windows of 9 tokens with a question of up to 6 have no room"));
}

}  // namespace
}  // namespace smelt::text
