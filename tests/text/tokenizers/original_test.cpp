// Compares the tokenizers with the original programs over many scripts: by hashes
// (tools/golden_scripts.py), and by running them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/sha256.h"
#include "text/tokenizers/basic_tokenizer.h"
#include "text/tokenizers/script_texts.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using Words = std::vector<std::string>;

const std::vector<std::pair<std::string, TokenizerOptions>>& variants() {
  static const std::vector<std::pair<std::string, TokenizerOptions>> all{
      {"bert_lower", {.lower_case = true}},
      {"bert_cased", {.lower_case = false}},
      {"electra_lower", {.lower_case = true, .control = ControlCharacters::electra}},
      {"electra_accents",
       {.lower_case = true, .strip_accents = false, .control = ControlCharacters::electra}},
      {"electra_cased", {.lower_case = false, .control = ControlCharacters::electra}}};
  return all;
}

// golden_scripts.py: digest
std::string digest(const BertTokenizer& tokenizer, const Words& texts) {
  const BasicTokenizer basic(tokenizer.options());
  std::string all;
  for (const std::string& text : texts) {
    Words words;
    basic.tokenize(text, words);
    all += join(words, "\n") + "\n" + join(tokenizer.encode(text), " ") + "\n";
  }
  return sha256(all);
}

TEST(OriginalTokenizer, MatchesRecordedIdsForFiveMegabytesInManyScripts) {
  const ScriptTexts scripts;
  const Vocabulary vocabulary(scripts.golden()["vocab"].get<Words>());
  const std::size_t bytes = scripts.golden()["script_bytes"];
  std::uint64_t seed = 0;
  for (const std::string& name : scripts.names()) {
    const Words texts = scripts.lines(name, seed++, bytes);
    for (const auto& [variant, options] : variants())
      EXPECT_EQ(digest(BertTokenizer(vocabulary, options), texts),
                scripts.golden()["hashes"][variant][name])
          << variant << " " << name;
  }
  EXPECT_GE(seed * bytes, 5'000'000u);
}

TEST(OriginalTokenizer, MatchesRecordedIdsForAMillionRandomStrings) {
  const ScriptTexts scripts;
  const Vocabulary vocabulary(scripts.golden()["vocab"].get<Words>());
  Draw draw(2019);
  for (int chunk = 0; chunk < 10; ++chunk) {
    Words texts;
    for (int i = 0; i < 100'000; ++i) texts.push_back(scripts.random_string(draw));
    for (const auto& [variant, options] : variants())
      EXPECT_EQ(digest(BertTokenizer(vocabulary, options), texts),
                scripts.golden()["hashes"][variant][str("random_", chunk)])
          << variant << " " << chunk;
  }
}

TEST(OriginalTokenizer, MatchesTheOriginalRunInPython) {
  REQUIRE_ORACLE();
  const TempDir dir;
  const ScriptTexts scripts;
  const Vocabulary vocabulary(scripts.golden()["vocab"].get<Words>());
  vocabulary.save(dir.file("vocab.txt"));
  Words texts;
  for (const std::string& name : scripts.names())
    std::ranges::copy(scripts.lines(name, 77, 10'000), std::back_inserter(texts));
  Draw draw(78);
  for (int i = 0; i < 10'000; ++i) texts.push_back(scripts.random_string(draw));
  std::string lines;
  for (const std::string& text : texts) lines += Json(text).dump() + "\n";
  io::write_file(dir.file("texts.jsonl"), lines);
  const CommandOutput output =
      run_oracle(str(source_path("tests/text/tokenizers/original_ids.py"), " ",
                     dir.file("vocab.txt"), " ", dir.file("texts.jsonl"), " ", dir.file("ids")));
  ASSERT_EQ(output.status, 0) << output.text;
  for (const auto& [variant, options] : variants()) {
    const BertTokenizer tokenizer(vocabulary, options);
    const std::string file = io::read_file(dir.file("ids." + variant));
    const auto expected = split(file, '\n');
    ASSERT_EQ(expected.size(), texts.size() + 1);
    for (std::size_t i = 0; i < texts.size(); ++i)
      ASSERT_EQ(join(tokenizer.encode(texts[i]), " "), expected[i])
          << variant << " " << testing::PrintToString(texts[i]);
  }
}

}  // namespace
}  // namespace smelt::text
