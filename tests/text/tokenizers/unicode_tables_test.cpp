// Compares ICU's Unicode tables and rules with Python's, by the hashes that tools/golden_tokens.py
// made of the original program's results around every code point.
#include <gtest/gtest.h>

#include <functional>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "support/paths.h"
#include "support/sha256.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/script_texts.h"

namespace smelt::text {
namespace {

Json golden(const char* key) {
  return Json::parse(io::read_file(source_path("tests/golden/tokens.json")))[key];
}

// golden_tokens.py: joined_words
void append_joined_words(const std::string& text, std::string& out) {
  for (const bool lower : {true, false}) {
    std::vector<std::string> words;
    BasicTokenizer(lower).tokenize(text, words);
    for (const std::string& word : words) out += word + "\n";
  }
  out += "\n";
}

// Calls with every string of at most `longest` of these letters, shorter ones first, the last
// letter changing fastest.
void for_each_string(const std::vector<std::string>& letters, int longest,
                     const std::function<void(const std::string&)>& visit) {
  std::vector<std::string> all{""};
  for (int length = 0; length <= longest; ++length) {
    std::vector<std::string> longer;
    for (const std::string& text : all) {
      visit(text);
      for (const std::string& letter : letters) longer.push_back(text + letter);
    }
    all = std::move(longer);
  }
}

TEST(BasicTokenizer, TreatsEveryCodePointOfUnicode14LikeTheOriginal) {
  const Json hashes = golden("code_points");
  std::size_t blocks = 0;
  for (char32_t block = 0; block < 0x110000; block += 0x1000) {
    std::string words;
    for (char32_t c = block; c < block + 0x1000; ++c) {
      if (!known_to_unicode(14, c)) continue;
      std::string at;
      append_utf8(c, at);
      append_joined_words("A" + at + "Σ" + at + "b ΑΣ" + at + " " + at + "Σ", words);
    }
    if (words.empty()) continue;
    char name[8];
    std::snprintf(name, sizeof name, "%04X", static_cast<unsigned>(block));
    ASSERT_TRUE(hashes.contains(name)) << name;
    EXPECT_EQ(sha256(words), hashes[name].get<std::string>()) << "code points from U+" << name;
    ++blocks;
  }
  EXPECT_EQ(blocks, hashes.size());
}

TEST(BasicTokenizer, LowerCasesTheFinalSigmaLikePython) {
  std::string words;
  for_each_string({"Σ", "α", "'", "\u0301", "1", "\u00ad"}, 5,
                  [&](const std::string& text) { append_joined_words(text, words); });
  EXPECT_EQ(sha256(words), golden("sigmas").get<std::string>());
}

TEST(Unicode, DropsTheSameBytesAsPythonInAllShortStrings) {
  const std::string_view bytes(
      "\x00\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef"
      "\xf0\xf1\xf3\xf4\xf5\xff",
      25);
  std::vector<std::string> letters;
  for (const char byte : bytes) letters.emplace_back(1, byte);
  std::string kept;
  for_each_string(letters, 4, [&](const std::string& text) {
    std::size_t dropped = 0;
    const std::string decoded = decode_utf8_ignore(text, &dropped);
    ASSERT_EQ(decoded.size() + dropped, text.size());
    kept += decoded + "\n";
  });
  EXPECT_EQ(sha256(kept), golden("utf8").get<std::string>());
}

}  // namespace
}  // namespace smelt::text
