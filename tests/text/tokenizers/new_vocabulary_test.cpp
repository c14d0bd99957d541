#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"
#include "text/readers/nfc_check.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/language.h"
#include "text/tokenizers/text_normalizer.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

Words normalized_words(std::string_view text, const TokenizerFlags& flags = {},
                       const char* language = "") {
  Words words;
  BasicTokenizer(new_vocabulary_options(flags, language, "--language")).tokenize(text, words);
  return words;
}

TEST(NewVocabulary, KeepsCaseAndAccentsByDefault) {
  EXPECT_THAT(normalized_words("Été İki"), ElementsAre("Été", "İki"));
  EXPECT_THAT(normalized_words("Été", {.lower_case = true}), ElementsAre("été"));
  EXPECT_THAT(normalized_words("Été", {.lower_case = true, .strip_accents = true}),
              ElementsAre("ete"));
  EXPECT_THAT(normalized_words("Été", {.strip_accents = true}), ElementsAre("Ete"));
  // In the format in which transformers stores defaults.
  EXPECT_EQ(
      new_vocabulary_options({.lower_case = true, .strip_accents = true}, "", "").strip_accents,
      std::nullopt);
}

TEST(NewVocabulary, NormalizesComposedAndDecomposedTextAlike) {
  EXPECT_EQ(normalized_words("Tie\u0302\u0301ng \u1112\u1161\u11ab"),
            normalized_words("Ti\u1ebfng \ud55c"));
  // Marks separated by U+200D are not composed, although it is dropped later.
  EXPECT_NE(normalized_words("e\u200d\u0301"), normalized_words("é"));
}

TEST(NewVocabulary, IsNfcAgreesWithNormalization) {
  for (const char* text :
       {"", "abc", "é", "ế", "한국어", "क\u093c्य", "漢字", "😀é", "x\u0323\u0301",
        "\u09af\u09bc\u09be", "\u0651\u064e", "\u00e9\u0316", "가각"})
    EXPECT_EQ(is_nfc(text), nfc(std::string(text)) == text) << text;
  for (const char* text :
       {"e\u0301", "x\u0301\u0323", "\u1112\u1161\u11ab", "\u0958", "\u212b", "a😀e\u0301",
        "\u00ea\u0323", "\u1ea1\u0302", "\uac00\u11a8", "\u0928\u093c", "e\u0316\u0301"})
    EXPECT_FALSE(is_nfc(text)) << text;
}

TEST(NewVocabulary, FastNfcCheckIsFalseForIllFormedUtf8) {
  EXPECT_TRUE(is_quickly_nfc("\u00e9 \u3042 \U0001f600"));
  for (const char* text : {"a\xC3z", "\xE3\x81z", "\xC3", "\xC0\xAF", "\xE0\x80\xAF",
                           "\xED\xA0\x80", "\x81", "\xF0\x9F\x98"})
    EXPECT_FALSE(is_quickly_nfc(text)) << text;
}

TEST(NewVocabulary, TreatsAZeroWidthSpaceAsWhiteSpace) {
  EXPECT_THAT(normalized_words("កម្ពុជា\u200bជា"), ElementsAre("កម្ពុជា", "ជា"));
  Words old;
  BasicTokenizer(false).tokenize("កម្ពុជា\u200bជា", old);
  EXPECT_THAT(old, ElementsAre("កម្ពុជាជា"));
  // The sigma before it is final.
  EXPECT_THAT(normalized_words("ΑΣ\u200bΑ", {.lower_case = true}), ElementsAre("ας", "α"));
}

TEST(NewVocabulary, LowerCasesTurkishByTurkicRules) {
  EXPECT_THAT(normalized_words("IRMAK İzmir I\u0307ki", {.lower_case = true}, "tr-TR"),
              ElementsAre("ırmak", "izmir", "iki"));
  EXPECT_THAT(normalized_words("IŞIK", {.lower_case = true, .strip_accents = true}, "az"),
              ElementsAre("ısık"));
  EXPECT_THAT(normalized_words("IŞIK", {}, "tr"), ElementsAre("IŞIK"));
  EXPECT_THAT(normalized_words("IŞIK", {.lower_case = true}, "de"), ElementsAre("işik"));
}

TEST(NewVocabulary, WritesBertTokenizerClassUnlessIdsWouldDiffer) {
  const auto config = [](const char* language) {
    return vocab_txt_config(new_vocabulary_options({.lower_case = true}, language, ""));
  };
  EXPECT_THAT(config(""), HasSubstr("\"tokenizer_class\": \"BertTokenizer\""));
  EXPECT_THAT(config("tr"), HasSubstr("\"tokenizer_class\": \"PreTrainedTokenizerFast\""));
}

TEST(NewVocabulary, RejectsInvalidLanguageTags) {
  EXPECT_TRUE(has_turkic_case("TR", ""));
  EXPECT_TRUE(has_turkic_case("az-Latn", ""));
  EXPECT_FALSE(has_turkic_case("tro", ""));
  EXPECT_FALSE(has_turkic_case("", ""));
  for (const char* wrong : {"turkish", "t", "tr_TR", "tr-", "12"})
    EXPECT_THAT(error_of<UsageError>([&] { has_turkic_case(wrong, "vocab.language"); }),
                HasSubstr(str("vocab.language: '", wrong, "' is not a language tag (BCP 47)")));
}

TEST(NewVocabulary, OffsetsReferToTheUnnormalizedText) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "é", "##b", "c"}),
                                new_vocabulary_options({}, "", ""));
  const std::string text = "e\u0301b\u200bc";  // bytes: e 0, U+0301 1, b 3, U+200B 4, c 7
  EXPECT_THAT(tokenizer.encode_with_offsets(text),
              ElementsAre(TokenSpan{1, 0, 1}, TokenSpan{2, 3, 4}, TokenSpan{3, 7, 8}));
  EXPECT_EQ(tokenizer.encode(text), tokenizer.encode("éb c"));
}

TEST(NewVocabulary, WordsAboveAHundredCharactersAreUnknown) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "a", "##a"}),
                                new_vocabulary_options({}, "", ""));
  EXPECT_EQ(tokenizer.encode(std::string(100, 'a')).size(), 100u);
  EXPECT_THAT(tokenizer.encode(std::string(101, 'a')), ElementsAre(0));
}

}  // namespace
}  // namespace smelt::text
