// Compares the one-pass tokenizers with the slow reference tokenizer, which makes a pass per step
// of the original.
#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include "base/philox.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/slow_tokenizer.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using Words = std::vector<std::string>;

std::vector<TokenizerOptions> all_options() {
  std::vector<TokenizerOptions> all;
  for (const bool lower : {true, false})
    for (const bool strip : {true, false})
      for (const auto control : {ControlCharacters::bert, ControlCharacters::electra})
        for (const bool chinese : {true, false})
          all.push_back({.lower_case = lower,
                         .strip_accents = strip,
                         .control = control,
                         .split_chinese = chinese});
  return all;
}

void expect_same_words(const std::string& text, const TokenizerOptions& options) {
  Words words;
  BasicTokenizer(options).tokenize(text, words);
  ASSERT_EQ(words, slow_words(text, options))
      << testing::PrintToString(text) << " lower " << options.lower_case << " strip "
      << options.strips_accents() << " electra " << (options.control == ControlCharacters::electra)
      << " chinese " << options.split_chinese;
}

std::string utf8(char32_t c) {
  std::string bytes;
  append_utf8(c, bytes);
  return bytes;
}

TEST(OnePassTokenizer, MatchesTheReferenceAroundEveryCodePoint) {
  for (const TokenizerOptions& options : all_options())
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (U_IS_SURROGATE(c) || (c > 0x40000 && c < 0xE0000)) continue;
      const std::string at = utf8(c);
      ASSERT_NO_FATAL_FAILURE(expect_same_words("A" + at + "Σ" + at, options));
    }
}

// Covers all characters that the pass treats specially: marks of several combining classes that are
// kept or stripped, sigma, cased and case-ignorable characters, dropped characters, ill-formed
// bytes.
TEST(OnePassTokenizer, MatchesTheReferenceInRandomContexts) {
  const std::vector<std::string> letters{"Σ",          "σ",
                                         "a",          "A",
                                         "'",          ".",
                                         " ",          "1",
                                         "\u00ad",     "\u200d",
                                         "\u0301",     "\u0327",
                                         "\u0345",     "\u0130",
                                         "ﬁ",          "中",
                                         "\uf900",     "\uac01",
                                         "\u1100",     "\u302e",
                                         "\u302f",     "\U0001d165",
                                         "\U0001d16d", "\U00016ff0",
                                         "\u1b44",     "\u0f39",
                                         "\u1fef",     "\u2260",
                                         "\u037e",     "\u0387",
                                         "\u2028",     "\u00a0",
                                         "\ufffd",     "\xff",
                                         "\xe2\x82",   "\xc3",
                                         "\U0001d15e", std::string(1, '\0'),
                                         "\t",         "\ue000",
                                         "\u0378",     "\u0f71\u0f72"};
  for (const TokenizerOptions& options : all_options())
    for (std::uint64_t i = 0; i < 20000; ++i) {
      std::string text;
      const std::uint64_t length = 1 + philox(i, 0, 1)[0] % 12;
      for (std::uint64_t j = 0; j < length; ++j) {
        const auto random = philox(i, j, 0);
        text += random[1] % 4 > 0 ? letters[random[0] % letters.size()]
                                  : std::string(1, random[0] % 128);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same_words(text, options));
    }
}

TEST(OnePassTokenizer, SplitsRandomWordsLikeTheReference) {
  const std::string letters = "ab#";
  const auto random_text = [&](std::uint64_t key, std::uint64_t longest) {
    std::string text;
    const std::uint64_t length = 1 + philox(key, 0, 9)[0] % longest;
    for (std::uint64_t j = 0; j < length; ++j)
      text += letters[philox(key, j, 8)[0] % letters.size()];
    return text;
  };
  for (std::uint64_t v = 0; v < 300; ++v) {
    Words tokens{"[UNK]"};
    for (std::uint64_t i = 0, count = philox(v, 0, 7)[0] % 30; i < count; ++i) {
      const std::string token =
          (philox(v, i, 6)[0] % 3 > 0 ? "##" : "") + random_text(v * 100 + i, 5);
      if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
    }
    const Vocabulary vocabulary(tokens);
    const BertTokenizer tokenizer(vocabulary, {});
    for (std::uint64_t i = 0; i < 300; ++i) {
      const std::string word = random_text(1000000 + i, 12);
      std::vector<std::int32_t> ids, expected;
      tokenizer.encode_word(word, ids);
      for (const std::string& piece : slow_pieces(vocabulary, word))
        expected.push_back(vocabulary.id(piece));
      ASSERT_EQ(ids, expected) << word << " with " << testing::PrintToString(tokens);
    }
  }
}

// Separate lists of pops for each node would need 80 GB here.
TEST(OnePassTokenizer, MemoryIsLinearInTheSizeOfThePieces) {
  const BertTokenizer tokenizer(
      Vocabulary({"[UNK]", "a", "##a", std::string(200'000, 'a'), "##" + std::string(90'000, 'a')}),
      {});
  std::vector<std::int32_t> ids, expected(150, 2);
  expected.front() = 1;
  tokenizer.encode(std::string(150, 'a'), ids);
  EXPECT_EQ(ids, expected);
}

TEST(OnePassTokenizer, AppendsIdsAndReplacesOnlyUnknownWords) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "a", "##b", "."}), {});
  std::vector<std::int32_t> ids{7};
  tokenizer.encode("ab abx . ABB", ids);
  EXPECT_EQ(ids, (std::vector<std::int32_t>{7, 1, 2, 0, 3, 1, 2, 2}));
}

}  // namespace
}  // namespace smelt::text
