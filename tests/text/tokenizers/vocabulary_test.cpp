#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/philox.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/readers/lines.h"
#include "text/readers/sentences.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/wordpiece.h"
#include "text/tokenizers/wordpiece_trainer.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;
using Counts = std::map<std::string, std::int64_t>;

TEST(Vocabulary, IdsAreLineNumbers) {
  const TempDir dir;
  io::write_file(dir.file("v.txt"), "[PAD]\r\n  word  \nlast");
  const Vocabulary v = Vocabulary::load(dir.file("v.txt"));
  EXPECT_EQ(v.size(), 3);
  EXPECT_EQ(v.id("word"), 1);
  EXPECT_EQ(v.token(2), "last");
  EXPECT_EQ(v.find("other"), std::nullopt);
}

TEST(Vocabulary, RejectsFilesThatAreNotVocabularies) {
  const TempDir dir;
  const auto load = [&](const char* content) {
    io::write_file(dir.file("v.txt"), content);
    return error_of<UsageError>([&] { Vocabulary::load(dir.file("v.txt")); });
  };
  EXPECT_THAT(load(""), HasSubstr("the vocabulary is empty"));
  EXPECT_THAT(load("\n\n"), HasSubstr("the vocabulary is empty"));
  EXPECT_THAT(load("<unk>\t0\n<s>\t0\n\u2581the\t-3.25\n"),
              HasSubstr("v.txt: is a SentencePiece .vocab (pieces and scores)"));
  io::write_file(dir.file("spiece.model"), std::string("\n\x0e\n\5<unk>\x15\0\0\0\0\x18\2", 16));
  EXPECT_THAT(error_of<UsageError>([&] { Vocabulary::load(dir.file("spiece.model")); }),
              HasSubstr("spiece.model: is a SentencePiece model, not a vocabulary"));
  EXPECT_THAT(error_of<UsageError>([&] { Vocabulary::load(dir.file("none.txt")); }),
              HasSubstr("none.txt"));
}

TEST(Vocabulary, EmptyAndUnusualLinesHaveIdsToo) {
  const TempDir dir;
  io::write_file(dir.file("v.txt"), "\xef\xbb\xbf[UNK]\na\n\u2028\n##\u2028\n\nb\n\n");
  const Vocabulary v = Vocabulary::load(dir.file("v.txt"));
  EXPECT_EQ(v.tokens(), (Words{"[UNK]", "a", "", "##", "", "b", ""}));
  EXPECT_EQ(v.rows(), 6) << "the last line gives no id of a text";
  EXPECT_EQ(v.find(""), std::nullopt);
  EXPECT_EQ(BertTokenizer(v, {}).encode("a\u2028b ##"), (std::vector<std::int32_t>{1, 5, 0, 0}));
  v.save(dir.file("saved.txt"));
  EXPECT_EQ(Vocabulary::load(dir.file("saved.txt")).tokens(), v.tokens());
}

TEST(Vocabulary, UsesTheLaterOfEqualLinesAndWarns) {
  const TempDir dir;
  io::write_file(dir.file("v.txt"), "[UNK]\na\nb\na\n##a\n##a\n");
  const CapturedLog captured;
  const Vocabulary v = Vocabulary::load(dir.file("v.txt"));
  const BertTokenizer tokenizer(Vocabulary::load(dir.file("v.txt")), {});
  const std::string log = captured.text();
  EXPECT_EQ(v.id("a"), 3);
  EXPECT_EQ(v.size(), 6);
  EXPECT_EQ(v.token(1), "a");
  EXPECT_EQ(tokenizer.encode("a aa b"), (std::vector<std::int32_t>{3, 3, 5, 2}));
  EXPECT_EQ(v.text(), "[UNK]\na\nb\na\n##a\n##a\n");
  EXPECT_THAT(log, HasSubstr("v.txt:4: token 'a' is on line 2 too (and 1 more such lines): the "
                             "later line is used"));
  EXPECT_EQ(log.find("the later line is used"), log.rfind("the later line is used")) << log;
}

TEST(Vocabulary, NamesTheIdsOfATokenThatATokenizerJsonHasTwice) {
  const CapturedLog log;
  EXPECT_EQ(Vocabulary({"[UNK]", "[CLS]", "a", "[SEP]", "a"}, "twice.json").id("a"), 4);
  EXPECT_THAT(log.text(),
              HasSubstr("twice.json: token 'a' has the ids 2 and 4: the last one is used"));
}

TEST(Vocabulary, RequiresAllSpecialTokensExceptPadding) {
  const Words special{"[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  Vocabulary(special).check_special_tokens();
  for (const std::string& missing : special) {
    Words others = special;
    std::erase(others, missing);
    EXPECT_THAT(error_of<UsageError>([&] { Vocabulary(others, "v.txt").check_special_tokens(); }),
                HasSubstr("v.txt: has no token " + missing));
  }
}

// Counts all pairs of all words again in each round.
Words train_slowly(const Counts& counts, std::int64_t size, std::int64_t min_frequency) {
  std::vector<std::pair<Words, std::int64_t>> words;
  std::set<std::string> forms;
  for (const auto& [word, count] : counts) {
    Words pieces;
    for (const char32_t c : to_code_points(word)) {
      std::string piece = pieces.empty() ? "" : "##";
      append_utf8(c, piece);
      pieces.push_back(piece);
    }
    forms.insert(pieces.begin(), pieces.end());
    words.emplace_back(pieces, count);
  }
  Words vocabulary{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  vocabulary.insert(vocabulary.end(), forms.begin(), forms.end());
  while (std::ssize(vocabulary) < size) {
    std::map<std::pair<std::string, std::string>, std::int64_t> pairs;
    for (const auto& [pieces, count] : words)
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        pairs[{pieces[i], pieces[i + 1]}] += count;
    const auto best = std::ranges::max_element(pairs, [](auto& a, auto& b) {
      return a.second != b.second
                 ? a.second < b.second
                 : a.first.first + " " + a.first.second > b.first.first + " " + b.first.second;
    });
    if (best == pairs.end() || best->second < min_frequency) break;
    const auto [left, right] = best->first;
    const std::string merged = left + right.substr(2);
    if (std::ranges::find(vocabulary, merged) == vocabulary.end()) vocabulary.push_back(merged);
    for (auto& [pieces, count] : words)
      for (std::size_t i = 0; i + 1 < pieces.size(); ++i)
        if (pieces[i] == left && pieces[i + 1] == right) {
          pieces[i] = merged;
          pieces.erase(pieces.begin() + i + 1);
        }
  }
  for (std::int64_t i = 0; std::ssize(vocabulary) < size; ++i)
    vocabulary.push_back(str("[unused", i, "]"));
  return vocabulary;
}

Counts random_counts(std::uint64_t seed) {
  Counts counts;
  for (std::uint64_t i = 0; i < 60; ++i) {
    std::string word;
    const auto bits = philox(seed, i, 0);
    for (std::uint64_t j = 0; j < 1 + bits[0] % 8; ++j)
      word.push_back("abcd"[philox(seed, i, j + 1)[0] % 4]);
    counts[word] += 1 + bits[1] % 9;
  }
  return counts;
}

TEST(WordPieceTrainer, GivesTheSameVocabularyAsTheSlowReference) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::int64_t size : {20, 60, 400}) {
      const Counts counts = random_counts(seed);
      EXPECT_EQ(
          train_wordpiece(
              counts,
              {.vocab_size = size, .min_frequency = 2, .alphabet_limit = 100, .reserved = {}}),
          train_slowly(counts, size, 2))
          << "seed " << seed << ", size " << size;
    }
}

TEST(WordPieceTrainer, EveryTrainingWordIsKnown) {
  const Counts counts = random_counts(99);
  const Vocabulary v(train_wordpiece(
      counts, {.vocab_size = 50, .min_frequency = 2, .alphabet_limit = 100, .reserved = {}}));
  const BertTokenizer tokenizer(v, {.lower_case = true});
  for (const auto& [word, count] : counts)
    for (const auto& piece : tokenizer.tokenize(word)) EXPECT_NE(piece, "[UNK]") << word;
}

TEST(WordPieceTrainer, KeepsTheMostFrequentCharacters) {
  const Words v =
      train_wordpiece({{"aab", 5}, {"cz", 1}},
                      {.vocab_size = 9, .min_frequency = 9, .alphabet_limit = 2, .reserved = {}});
  EXPECT_THAT(v, ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##a", "##b", "a", "b"));
}

TEST(WordPieceTrainer, AddsTheOtherFormOfACharacterIfThereIsRoom) {
  // "." and the Chinese character are separate words, so no piece continues them.
  const Words v = train_wordpiece({{"ax", 1}, {".", 9}, {"中", 1}},
                                  {.vocab_size = 12, .min_frequency = 9, .reserved = {}});
  EXPECT_EQ(Words(v.begin() + 5, v.end()), (Words{"##x", ".", "a", "中", "##a", "x", "[unused0]"}));
}

// Returns Chinese characters, each a word, with the counts 100, 99, ...
Counts chinese_characters(int many) {
  Counts counts;
  for (int i = 0; i < many; ++i) {
    std::string character;
    append_utf8(0x4E00 + static_cast<char32_t>(i), character);
    counts[character] = 100 - i;
  }
  return counts;
}

std::int64_t words_in(const Words& pieces) {
  return std::ranges::count_if(pieces, [](const std::string& p) { return !p.starts_with("["); });
}

TEST(WordPieceTrainer, ExtendsTheAlphabetIfThereIsRoom) {
  const CapturedLog log;
  const auto train = [](std::int64_t size, std::int64_t most) {
    return words_in(train_wordpiece(
        chinese_characters(60),
        {.vocab_size = size, .min_frequency = 2, .alphabet_limit = most, .reserved = {}}));
  };
  EXPECT_EQ(train(35, 0), 30);
  EXPECT_THAT(log.text(),
              HasSubstr("the alphabet has 30 of the text's 60 different characters; words with the "
                        "others, 39.4 % of all characters, will be [UNK]\n  hint: raise the "
                        "vocabulary's size (--size, vocab.size)"));
  EXPECT_EQ(train(70, 0), 60);
  EXPECT_EQ(train(70, 10), 10);  // a given limit is still respected
}

// Returns words of two letters: each letter needs a piece, and merges could take the other places.
Counts pairs_of(int letters, std::int64_t count, std::int64_t last) {
  Counts counts;
  for (int i = 0; i < letters; ++i) {
    std::string word = "x";
    append_utf8(0x400 + static_cast<char32_t>(i), word);
    counts[word] = i + 1 < letters ? count : last;
  }
  return counts;
}

TEST(WordPieceTrainer, KeepsAllLettersIfTheyFitInAThirdOfTheVocabulary) {
  const auto has = [](const Words& pieces, char32_t letter) {
    std::string piece = "##";
    append_utf8(letter, piece);
    return std::ranges::find(pieces, piece) != pieces.end();
  };
  // 21 forms in 63 places: all letters are kept, even one that makes up a 40,000th of the text.
  const Counts few = pairs_of(20, 1000, 1);
  EXPECT_TRUE(has(train_wordpiece(few, {.vocab_size = 64, .reserved = {}}), 0x413));
  // 21 forms do not fit in a third of the places: only the letters that cover 0.9995 of the text
  // are kept.
  EXPECT_FALSE(has(train_wordpiece(few, {.vocab_size = 42, .reserved = {}}), 0x413));
  EXPECT_TRUE(has(train_wordpiece(few, {.vocab_size = 42, .reserved = {}}), 0x412));
  // A letter that makes up less than a millionth is noise if merges fill the other places.
  Counts many = pairs_of(20, 100000, 1);
  for (int i = 0; i < 18; ++i)
    for (int j = 0; j < 18; ++j) {
      std::string word = "x";
      append_utf8(0x400 + static_cast<char32_t>(i), word);
      append_utf8(0x400 + static_cast<char32_t>(j), word);
      many[word] = 10;
    }
  EXPECT_FALSE(has(train_wordpiece(many, {.vocab_size = 64, .reserved = {}}), 0x413));
}

TEST(WordPieceTrainer, RejectsACoverageOutsideZeroToOne) {
  EXPECT_THAT(error_of<UsageError>([] { train_wordpiece({{"a", 1}}, {.coverage = 1.5}); }),
              HasSubstr("vocab: --coverage 1.5: must be greater than 0 and at most 1"));
}

TEST(WordPieceTrainer, RejectsASizeWithoutRoomForTheAlphabet) {
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece(
                    {{"abc", 1}},
                    {.vocab_size = 7, .min_frequency = 1, .alphabet_limit = 10, .reserved = {}});
              }),
              HasSubstr("7 pieces have no room for 5 special tokens and an alphabet of 3"));
}

TEST(WordPieceTrainer, IgnoresWordsTooLongForTheTokenizer) {
  const std::string longest(200, 'a'), too_long(201, 'b');
  const Words v =
      train_wordpiece({{longest, 1}, {too_long, 9}},
                      {.vocab_size = 8, .min_frequency = 2, .alphabet_limit = 9, .reserved = {}});
  EXPECT_THAT(v, ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##a", "a", "##aa"));
}

TEST(WordPieceTrainer, RejectsASizeAboveTheMaximum) {
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece({{"abc", 1}}, {.vocab_size = 9'999'999'999,
                                               .min_frequency = 1,
                                               .alphabet_limit = 10,
                                               .reserved = {}});
              }),
              HasSubstr("vocab: the size is 9999999999, more than 4194304"));
}

TEST(WordPieceTrainer, RejectsOptionsBelowOne) {
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece(
                    {{"abc", 1}},
                    {.vocab_size = 20, .min_frequency = 0, .alphabet_limit = 10, .reserved = {}});
              }),
              HasSubstr("vocab: the minimum frequency is 0, must be at least 1"));
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece(
                    {{"abc", 1}},
                    {.vocab_size = 20, .min_frequency = 1, .alphabet_limit = -3, .reserved = {}});
              }),
              HasSubstr("vocab: the alphabet's limit is -3, must be at least 1"));
}

TEST(LineReader, ReadsEveryLineAndCountsLines) {
  const TempDir dir;
  const std::string longer(600'000, 'x');  // more than the reader's buffer
  io::write_file(dir.file("t"), "one\r\n\n" + longer + "\nlast");
  LineReader lines(dir.file("t"));
  std::string line;
  Words all;
  while (lines.next(line)) all.push_back(line);
  EXPECT_THAT(all, ElementsAre("one", "", longer, "last"));
  EXPECT_EQ(lines.number(), 4);
}

TEST(LineReader, RejectsALineAboveTheSizeLimit) {
  const TempDir dir;
  io::write_file(dir.file("t"), std::string(kMaxLineBytes + 1, 'x'));
  LineReader lines(dir.file("t"));
  std::string line;
  EXPECT_THAT(error_of<UsageError>([&] { lines.next(line); }),
              HasSubstr("t:1: a line of more than 64 MiB"));
}

TEST(SentenceSplitter, SplitsAtTheEndsOfSentences) {
  Words sentences;
  SentenceSplitter().split("It rains.  Does it? Yes! See section 3.2 of the manual.", sentences);
  EXPECT_THAT(sentences,
              ElementsAre("It rains.", "Does it?", "Yes!", "See section 3.2 of the manual."));
}

}  // namespace
}  // namespace smelt::text
