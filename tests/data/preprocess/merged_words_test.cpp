#include "data/preprocess/merged_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class MergedWordsTest : public testing::Test {
 protected:
  text::LinesOptions text(const std::string& content) const {
    io::write_file(dir_.file("text.txt"), content);
    text::LinesOptions out;
    out.input = dir_.file("text.txt");
    return out;
  }
  std::string log_of(const std::string& content, const text::TokenizerOptions& options) const {
    const CapturedLog log;
    log_normalization(text(content), options);
    return log.text();
  }
  const TempDir dir_;
  const text::TokenizerOptions lower_{.lower_case = true};
};

TEST_F(MergedWordsTest, CountsWordsThatBecomeEqualAndNamesTheMostFrequent) {
  const MergedWords found =
      count_merged_words(text("bạn bạn bản Bạn một hai\ntôi tối tôi\n"), lower_);
  EXPECT_EQ(found.words, 9);
  EXPECT_EQ(found.changed, 8);
  EXPECT_EQ(found.merged, 7);
  EXPECT_THAT(found.examples, ElementsAre("bạn, bản", "tôi, tối"));
}

TEST_F(MergedWordsTest, CountsNothingIfAccentsAreKept) {
  EXPECT_EQ(count_merged_words(text("bạn bản"), {.lower_case = false}).words, 0);
  EXPECT_EQ(count_merged_words(text("bạn bản"), {.lower_case = true, .strip_accents = false}).words,
            0);
}

TEST_F(MergedWordsTest, WarnsWithExamplesAndTheSettingThatKeepsAccents) {
  EXPECT_THAT(log_of("bạn bản hai ba\n", lower_),
              AllOf(HasSubstr("vocab: Latin; lower-cased, accents stripped\n"),
                    HasSubstr("changes 50.0 % of the words and makes 50.0 % equal to another word "
                              "(bạn, bản)\n  hint: --strip-accents false")));
  // Voiced kana become other kana, though no two words of this text become one.
  EXPECT_THAT(log_of("がぎぐ でした\n", lower_), HasSubstr("makes 0.0 % equal to another word\n"));
}

TEST_F(MergedWordsTest, DoesNotWarnOfEnglishOrIfAccentsAreKept) {
  EXPECT_THAT(log_of("The cat sees the café of the other cat and the dog.\n", lower_),
              Not(HasSubstr("stripping accents changes")));
  const std::string kept = log_of("bạn bản\n", {.lower_case = false});
  EXPECT_THAT(kept,
              AllOf(HasSubstr("vocab: Latin; case and accents kept\n"), Not(HasSubstr("hint"))));
}

TEST_F(MergedWordsTest, LogsTheScriptsOfTheText) {
  EXPECT_THAT(log_of("हिन्दी में लिखा हुआ text 123\n", {.lower_case = false}),
              HasSubstr("vocab: Devanagari and Latin; case and accents kept\n"));
  EXPECT_THAT(log_of("123 45\n", {.lower_case = true, .strip_accents = false}),
              HasSubstr("vocab: lower-cased, accents kept\n"));
}

TEST_F(MergedWordsTest, WarnsOfTurkishTextLowerCasedByEnglishRules) {
  const std::string turkish = "Irmak kıyısında ışıklı bir şehir, dağ ve İzmir\n";
  const text::TokenizerOptions lower{.lower_case = true, .strip_accents = false};
  text::TokenizerOptions by_its_rules = lower;
  by_its_rules.turkic_case = true;
  EXPECT_THAT(log_of(turkish, lower), HasSubstr("hint: --language tr (vocab.language=tr)"));
  EXPECT_THAT(
      log_of(turkish, by_its_rules),
      AllOf(HasSubstr("Latin; lower-cased as in Turkish, accents kept\n"), Not(HasSubstr("hint"))));
  EXPECT_THAT(log_of(turkish, {.lower_case = false}), Not(HasSubstr("hint")));
  EXPECT_THAT(log_of("Țara și Ştefan sunt în România\n", lower), Not(HasSubstr("hint")));
}

}  // namespace
}  // namespace smelt::data
