#include "cli/options/answers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "cli/options/text_source.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

TEST(MarkedText, MarksTokensAtOrAboveTheThreshold) {
  const std::vector<execution::JudgedToken> tokens{
      {{7, 0, 3}, 0.1F}, {{8, 4, 7}, 0.5F}, {{9, 7, 8}, 0.9F}};
  EXPECT_EQ(marked_text("The cat. ", tokens, 0.5, false), "The [cat][.] ");
  EXPECT_EQ(marked_text("The cat. ", tokens, 0.9001, false), "The cat. ");
  EXPECT_EQ(marked_text("The cat. ", tokens, 0.6, true), "The cat\033[1;31m.\033[0m ");
  const std::vector<execution::JudgedToken> in_one{
      {{5, 0, 3}, 0.1F}, {{6, 0, 3}, 0.9F}, {{7, 0, 3}, 0.2F}, {{8, 4, 8}, 0.4F}};
  EXPECT_EQ(marked_text("\uD55C bala", in_one, 0, false), "[\uD55C] [bala]");
  EXPECT_EQ(marked_text("\uD55C bala", in_one, 0.9F, false), "[\uD55C] bala");
}

TEST(Detected, PrintsTheLikeliestTokenIfNoneReachesTheThreshold) {
  testing::internal::CaptureStdout();
  print_detected({.source = {.texts = {"The cat"}, .file = {}}, .threshold = 0.9}, [](const auto&) {
    return std::vector<std::vector<execution::JudgedToken>>{
        {{{7, 0, 3}, 0.1F}, {{8, 4, 7}, 0.25F}}};
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "The cat\n    no token with a probability of 90.0 % or more; the highest is cat "
            "25.0 %\n");
}

TEST(TextSource, NormalizesTextsToNfc) {
  std::vector<std::string> got;
  each_batch({.texts = {"cafe\u0301", "\u1112\u1161"}, .file = {}}, "fill",
             [&](const std::vector<std::string>& texts) { got = texts; });
  EXPECT_EQ(got, (std::vector<std::string>{"caf\u00E9", "\uD558"}));
}

TEST(TextSource, AnswersTheTextsBeforeOneThatIsRefused) {
  const TempDir dir;
  io::write_file(dir.file("texts.txt"), "a\nb\nbad\nc\n");
  std::vector<std::string> answered;
  const std::string thrown = error_of<UsageError>([&] {
    each_batch({.texts = {}, .file = {.path = dir.file("texts.txt")}}, "fill",
               [&](const std::vector<std::string>& texts) {
                 for (const std::string& text : texts)
                   if (text == "bad") throw UsageError("no [MASK] in 'bad'");
                 answered.insert(answered.end(), texts.begin(), texts.end());
               });
  });
  EXPECT_EQ(answered, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(thrown, "no [MASK] in 'bad'");
}

TEST(Filled, DoesNotMarkGuessesIfOutputIsNotATerminal) {
  testing::internal::CaptureStdout();
  print_filled({.source = {.texts = {"[MASK]"}, .file = {}}}, [](const auto& texts) {
    return std::vector<execution::FilledText>{
        {.text = texts.front(), .masks = {{{.token = "\u0641\u064A", .probability = 0.5F}}}}};
  });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[MASK]\n    \u0641\u064A 50.0 %\n");
}

}  // namespace
}  // namespace smelt::cli
