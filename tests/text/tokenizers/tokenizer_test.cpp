// Compares the tokenizer with the original program's tokens (tools/golden_tokens.py) and slow
// references.
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/philox.h"
#include "io/filesystem/file.h"
#include "support/paths.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/slow_tokenizer.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using Words = std::vector<std::string>;

const Json& golden() {
  static const auto json = Json::parse(io::read_file(source_path("tests/golden/tokens.json")));
  return json;
}

TEST(BasicTokenizer, GivesTheSameWordsAsTheOriginal) {
  for (const auto& item : golden()["cases"])
    for (const bool lower : {true, false}) {
      Words words;
      BasicTokenizer(lower).tokenize(item["text"].get<std::string>(), words);
      EXPECT_EQ(words, item[lower ? "lower_words" : "cased_words"].get<Words>()) << item["text"];
    }
}

TEST(BertTokenizer, GivesTheSameIdsAsTheOriginal) {
  const Vocabulary vocabulary(golden()["vocab"].get<Words>());
  for (const bool lower : {true, false}) {
    const BertTokenizer tokenizer(vocabulary, {.lower_case = lower});
    for (const auto& item : golden()["cases"])
      EXPECT_EQ(tokenizer.encode(item["text"].get<std::string>()),
                item[lower ? "lower_ids" : "cased_ids"].get<std::vector<std::int32_t>>())
          << item["text"];
  }
}

TEST(BertTokenizer, SplitsAllShortWordsLikeTheReference) {
  const std::vector<Words> vocabularies{
      {"[UNK]", "a", "##a", "ab", "##b", "abc", "##bc", "##abc", "b", "##cab"},
      {"[UNK]", "a", "b", "c", "##a", "##b", "##c", "aaa", "##aaa", "##ab", "cc", "##bbbb"},
      {"[UNK]", "ab", "##c", "##ca", "bc", "abcabc"}};
  for (const Words& tokens : vocabularies) {
    const Vocabulary vocabulary(tokens);
    const BertTokenizer tokenizer(vocabulary, {.lower_case = true});
    for (int length = 1, count = 3; length <= 6; ++length, count *= 3)
      for (int n = 0; n < count; ++n) {
        std::string word;
        for (int i = 0, rest = n; i < length; ++i, rest /= 3) word.push_back("abc"[rest % 3]);
        ASSERT_EQ(tokenizer.tokenize(word), slow_pieces(vocabulary, word)) << word;
      }
  }
}

TEST(BertTokenizer, WordsAbove200CharactersAreUnknown) {
  const BertTokenizer tokenizer(Vocabulary({"[UNK]", "ж", "##ж"}), {.lower_case = true});
  std::string word;
  for (int i = 0; i < 200; ++i) word += "ж";
  EXPECT_EQ(tokenizer.encode(word).size(), 200u);
  EXPECT_EQ(tokenizer.tokenize(word + "ж"), Words{"[UNK]"});
}

// Python 3: b"...".decode("utf-8", "ignore")
TEST(Unicode, DropsIllFormedBytesLikePython) {
  const std::vector<std::tuple<std::string, std::string, std::size_t>> cases{
      {"a\xff"
       "b",
       "ab", 1},
      {"\xe2\x82", "", 2},
      {"\xe2\x82z", "z", 2},
      {"\xc0\xaf", "", 2},
      {"\xed\xa0\x80x", "x", 3},
      {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", 0},
      {"\xf5\x80\x80\x80", "", 4},
      {"caf\xe9 ole", "caf ole", 1},
      {"\xe2\x28\xa1", "\x28", 2},
      {"\xf0\x9f\x98", "", 3}};
  for (const auto& [bytes, kept, dropped] : cases) {
    std::size_t count = 99;
    EXPECT_EQ(decode_utf8_ignore(bytes, &count), kept);
    EXPECT_EQ(count, dropped) << testing::PrintToString(bytes);
  }
}

// Python 3: "...".strip()
TEST(Unicode, StripsTheSameWhiteSpaceAsPython) {
  EXPECT_EQ(python_strip(" \t\v\f\x1c\x1f a b \xc2\x85\xc2\xa0\xe2\x80\xa8\xe3\x80\x80"), "a b");
  EXPECT_EQ(python_strip("\xe2\x80\x8b"
                         "a"),
            "\xe2\x80\x8b"
            "a");  // U+200B is not white space
  EXPECT_EQ(python_strip(" \n "), "");
}

}  // namespace
}  // namespace smelt::text
