#include "text/readers/sentences.h"

#include <gmock/gmock.h>

namespace smelt::text {
namespace {

using testing::ElementsAre;

std::vector<std::string> sentences_of(std::string_view paragraph) {
  SentenceSplitter splitter;
  std::vector<std::string> out;
  splitter.split(paragraph, out);
  return out;
}

TEST(Sentences, EndAtTerminatorsOfSeveralScripts) {
  EXPECT_THAT(sentences_of("One. Two? Three!"), ElementsAre("One.", "Two?", "Three!"));
  EXPECT_THAT(sentences_of("这是。那是！"), ElementsAre("这是。", "那是！"));
  EXPECT_THAT(sentences_of("यह है। वह है।"), ElementsAre("यह है।", "वह है।"));
}

TEST(Sentences, EndAtKhmerTerminators) {
  EXPECT_THAT(sentences_of("ខ្ញុំទៅ។អ្នកមក៕ គាត់"), ElementsAre("ខ្ញុំទៅ។", "អ្នកមក៕", "គាត់"));
  EXPECT_THAT(sentences_of("ក។ល។ ខ"), ElementsAre("ក។ល។", "ខ"));  // "and so on"
}

TEST(Sentences, EndAtTibetanTerminatorsBeforeSpaces) {
  EXPECT_THAT(sentences_of("ང་འགྲོ། ཁོང་ཡོང༌།  །དེ་རིང་།"), ElementsAre("ང་འགྲོ།", "ཁོང་ཡོང༌།  །", "དེ་རིང་།"));
}

TEST(Sentences, GreekSentencesEndAtGreekQuestionMarks) {
  EXPECT_THAT(sentences_of("Τι κάνεις; Είμαι καλά."), ElementsAre("Τι κάνεις;", "Είμαι καλά."));
  EXPECT_THAT(sentences_of("First; Second."), ElementsAre("First; Second."));
}

TEST(Sentences, BeginWithTheirOpeningBracketsAndQuotes) {
  EXPECT_THAT(sentences_of("彼は言った。「行こう。」そして出た。"),
              ElementsAre("彼は言った。", "「行こう。」", "そして出た。"));
  EXPECT_THAT(sentences_of("来た。（笑）次へ。『「本』を"),
              ElementsAre("来た。", "（笑）次へ。", "『「本』を"));
  EXPECT_THAT(sentences_of("他说。“走吧。”她走了。"),
              ElementsAre("他说。", "“走吧。”", "她走了。"));
  EXPECT_THAT(sentences_of("„Er kam.“ Dann ging er."), ElementsAre("„Er kam.“", "Dann ging er."));
}

TEST(Sentences, ThaiAndLaoEndAtASpaceAfterFortyCharacters) {
  std::string thai, lao;
  for (int i = 0; i < 20; ++i) thai += "กา", lao += "ກາ";
  const std::string shorter = thai.substr(3);
  EXPECT_THAT(sentences_of(thai + " " + thai), ElementsAre(thai, thai));
  EXPECT_THAT(sentences_of(lao + " " + lao), ElementsAre(lao, lao));
  EXPECT_THAT(sentences_of(shorter + " กา กา"), ElementsAre(shorter + " กา", "กา"));
  EXPECT_THAT(sentences_of(thai + " Word ๆ"), ElementsAre(thai + " Word ๆ"));
  EXPECT_THAT(sentences_of(thai + " ๆ กา"), ElementsAre(thai + " ๆ", "กา"));
}

TEST(Sentences, DoNotEndAtTitlesInitialsAndGermanDates) {
  for (const char* whole :
       {"Dr. Müller kam am 3. Oktober um z. B. Berlin.", "И. И. Иванов пришёл, т. е. Иванов.",
        "Mr. Smith met J. R. Tolkien.", "Vgl. Nr. 5.", "Sr. García y Dña. Inés.",
        "Il a vu M. Dupont.", "A book by J. Smith and J. I. Packer."})
    EXPECT_THAT(sentences_of(whole), ElementsAre(whole));
}

TEST(Sentences, EndAtATitleOrLetterBeforeACommonFirstWord) {
  EXPECT_THAT(sentences_of("He took vitamin C. It helped him."),
              ElementsAre("He took vitamin C.", "It helped him."));
  EXPECT_THAT(sentences_of("This is plan B. We go."), ElementsAre("This is plan B.", "We go."));
  EXPECT_THAT(sentences_of("z. B. Der Hund"), ElementsAre("z. B. Der Hund"));
  EXPECT_THAT(sentences_of("She is a Ms. He ran."), ElementsAre("She is a Ms.", "He ran."));
  EXPECT_THAT(sentences_of("Мы пили пл. Потом ушли."), ElementsAre("Мы пили пл.", "Потом ушли."));
}

TEST(Sentences, EndAtWordsThatOnlyResembleAbbreviations) {
  EXPECT_THAT(sentences_of("So do I. He left. No. Why?"),
              ElementsAre("So do I.", "He left.", "No.", "Why?"));
  EXPECT_THAT(sentences_of("Это я. Кто там и т. д. Потом."),
              ElementsAre("Это я.", "Кто там и т. д.", "Потом."));
  EXPECT_THAT(sentences_of("Er ist 12. Dann."), ElementsAre("Er ist 12.", "Dann."));
}

}  // namespace
}  // namespace smelt::text
