#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/philox.h"
#include "store/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/lines.h"
#include "text/sentences.h"
#include "text/unicode.h"
#include "tokenize/vocabulary_job.h"
#include "tokenize/wordpiece.h"

namespace smelt {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;
using Counts = std::map<std::string, std::int64_t>;

TEST(Vocabulary, TheIdIsTheLine) {
  const TempDir dir;
  write_file(dir.file("v.txt"), "[PAD]\r\n  word  \nlast");
  const Vocabulary v = Vocabulary::load(dir.file("v.txt"));
  EXPECT_EQ(v.size(), 3);
  EXPECT_EQ(v.id("word"), 1);
  EXPECT_EQ(v.token(2), "last");
  EXPECT_EQ(v.find("other"), std::nullopt);
}

TEST(Vocabulary, RefusesFilesThatAreNone) {
  const TempDir dir;
  const auto load = [&](const char* content) {
    write_file(dir.file("v.txt"), content);
    return error_of<UsageError>([&] { Vocabulary::load(dir.file("v.txt")); });
  };
  EXPECT_THAT(load("a\n\nb\n"), HasSubstr("v.txt:2: empty line in a vocabulary"));
  EXPECT_THAT(load("a\nb\na\n"), HasSubstr("v.txt:3: token 'a' stands on line 1 already"));
  EXPECT_THAT(load(""), HasSubstr("the vocabulary is empty"));
  write_file(dir.file("spiece.model"), std::string("\n\x0e\n\5<unk>\x15\0\0\0\0\x18\2", 16));
  EXPECT_THAT(error_of<UsageError>([&] { Vocabulary::load(dir.file("spiece.model")); }),
              HasSubstr("spiece.model: is a SentencePiece model, not a vocabulary"));
  EXPECT_THAT(error_of<UsageError>([&] { Vocabulary::load(dir.file("none.txt")); }),
              HasSubstr("none.txt"));
}

TEST(Vocabulary, RefusesToDoWithoutAnyOfTheSpecialTokens) {
  const Words special{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  Vocabulary(special).check_special_tokens();
  for (const std::string& missing : special) {
    Words others = special;
    std::erase(others, missing);
    EXPECT_THAT(error_of<UsageError>([&] { Vocabulary(others, "v.txt").check_special_tokens(); }),
                HasSubstr("v.txt: has no token " + missing));
  }
}

// Counts all pairs of all words anew in each round.
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

TEST(WordPieceTrainer, MergesAsTheSlowTwinThatCountsAnew) {
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
  EXPECT_THAT(
      v, ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##a", "##b", "a", "[unused0]"));
}

TEST(WordPieceTrainer, RefusesASizeWithoutRoomForTheAlphabet) {
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece(
                    {{"abc", 1}},
                    {.vocab_size = 7, .min_frequency = 1, .alphabet_limit = 10, .reserved = {}});
              }),
              HasSubstr("7 pieces have no room for 5 special tokens and an alphabet of 3"));
}

TEST(WordPieceTrainer, LeavesOutWordsThatTheTokenizerNeverCuts) {
  const std::string longest(200, 'a'), too_long(201, 'b');
  const Words v =
      train_wordpiece({{longest, 1}, {too_long, 9}},
                      {.vocab_size = 8, .min_frequency = 2, .alphabet_limit = 9, .reserved = {}});
  EXPECT_THAT(v, ElementsAre("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##a", "a", "##aa"));
}

TEST(WordPieceTrainer, RefusesASizeBeyondReason) {
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece({{"abc", 1}}, {.vocab_size = 9'999'999'999,
                                               .min_frequency = 1,
                                               .alphabet_limit = 10,
                                               .reserved = {}});
              }),
              HasSubstr("vocab: the size is 9999999999, more than 4194304"));
}

TEST(WordPieceTrainer, RefusesOptionsBelowOne) {
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece(
                    {{"abc", 1}},
                    {.vocab_size = 20, .min_frequency = 0, .alphabet_limit = 10, .reserved = {}});
              }),
              HasSubstr("vocab: the minimum frequency is 0, not at least 1"));
  EXPECT_THAT(error_of<UsageError>([] {
                train_wordpiece(
                    {{"abc", 1}},
                    {.vocab_size = 20, .min_frequency = 1, .alphabet_limit = -3, .reserved = {}});
              }),
              HasSubstr("vocab: the alphabet's limit is -3, not at least 1"));
}

class VocabularyJobTest : public testing::Test {
 protected:
  VocabularyJob job(std::string_view text) {
    write_file(dir_.file("in.txt"), text);
    VocabularyJob job;
    job.text.input = dir_.file("in.txt");
    job.out = dir_.file("vocab.txt");
    job.trainer.vocab_size = 30;
    return job;
  }
  TempDir dir_;
};

TEST_F(VocabularyJobTest, WritesAVocabularyThatLoads) {
  const VocabularySummary s = train_vocabulary(job("The cat sat. The cat ran.\n"));
  EXPECT_EQ(s.size, 30);
  EXPECT_EQ(s.unused,
            30 - 5 - 10 - 4);  // special tokens; t ##h ##e c ##a ##t s r ##n .; ##at ##he cat the
  EXPECT_EQ(s.words, 8);
  EXPECT_EQ(s.distinct_words, 5);
  Vocabulary::load(dir_.file("vocab.txt")).check_special_tokens();
}

TEST_F(VocabularyJobTest, RefusesWrongInput) {
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job(" \n\n")); }),
              HasSubstr("holds no words"));
  VocabularyJob missing = job("a");
  missing.text.input = dir_.file("none-*.txt");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(missing); }),
              HasSubstr("no file matches"));
  VocabularyJob strict = job("good\nbad \xff\xfe\n");
  strict.text.limits.strict = true;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(strict); }),
              HasSubstr("in.txt:2: not UTF-8 (2 bytes)"));
  EXPECT_FALSE(std::filesystem::exists(strict.out));
  EXPECT_THAT(error_of<UsageError>([&] {
                VocabularyJob job = this->job("a");
                job.text.input = dir_.path();
                train_vocabulary(job);
              }),
              HasSubstr(dir_.path()));
}

TEST_F(VocabularyJobTest, ReadsTheTextOfAnyFormat) {
  train_vocabulary(job("The cat sat.\nThe cat ran.\n"));
  const std::string want = read_file(dir_.file("vocab.txt"));
  write_file(dir_.file("in.jsonl"), "{\"id\": 1, \"body\": \"The cat sat.\\nThe cat ran.\"}\n");
  write_file(dir_.file("in.tsv"), "id\tbody\n1\tThe cat sat.\n2\tThe cat ran.\n");
  write_file(dir_.file("in.csv"), "id,body\n1,\"The cat sat.\nThe cat ran.\"\n");
  for (const char* name : {"in.jsonl", "in.tsv", "in.csv"}) {
    VocabularyJob rows = job("");
    rows.text.input = dir_.file(name);
    rows.text.format.field = "body";
    rows.overwrite = true;
    EXPECT_EQ(train_vocabulary(rows).text.lines, 2);
    EXPECT_EQ(read_file(dir_.file("vocab.txt")), want) << name;
    rows.text.format.field = "bodi";
    EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(rows); }),
                HasSubstr("did you mean 'body'?"));
  }
}

TEST_F(VocabularyJobTest, WritesATokenizerJsonWhereTheNameSaysSo) {
  VocabularyJob lines = job("The cat sat. The cat ran.\n"), json = lines;
  train_vocabulary(lines);
  json.out = dir_.file("tokenizer.json");
  train_vocabulary(json);
  EXPECT_EQ(Vocabulary::load(json.out).tokens(), Vocabulary::load(lines.out).tokens());
  EXPECT_FALSE(std::filesystem::exists(dir_.file("tokenizer.tokenizer_config.json")));
}

TEST_F(VocabularyJobTest, AReservedTokenThatTheTextGivesIsOneToken) {
  for (const VocabularyType type : {VocabularyType::wordpiece, VocabularyType::unigram}) {
    VocabularyJob same = job("the cat sat on the mat. the cat ran to the hat.\n");
    same.type = type;
    same.trainer.vocab_size = 60;
    same.trainer.reserved = {"the", "c"};
    same.overwrite = true;
    train_vocabulary(same);
    const Vocabulary vocabulary = Vocabulary::load(same.out);
    EXPECT_EQ(vocabulary.id("the"), 5);
    EXPECT_EQ(vocabulary.id("c"), 6);
    EXPECT_EQ(vocabulary.size(), 60);
  }
}

TEST_F(VocabularyJobTest, NoVocabularyStandsBesideTheSettingsOfAnother) {
  VocabularyJob first = job("The cat sat.\n");
  train_vocabulary(first);
  first.overwrite = true;
  first.tokenizer.lower_case = false;
  // The settings cannot take their place: a folder is there.
  std::filesystem::remove(dir_.file("tokenizer_config.json"));
  std::filesystem::create_directories(dir_.file("tokenizer_config.json/x"));
  const std::string before = read_file(first.out);
  EXPECT_THROW(train_vocabulary(first), Error);
  EXPECT_EQ(read_file(first.out), before);
  std::filesystem::remove_all(dir_.file("tokenizer_config.json"));
  train_vocabulary(first);
  EXPECT_TRUE(Vocabulary::load(first.out).find("T"));
  EXPECT_FALSE(load_tokenizer_config(first.out)->lower_case);
}

TEST_F(VocabularyJobTest, LeavesOutBytesThatAreNotUtf8AndWarnsOnce) {
  const CapturedLog log;
  EXPECT_EQ(train_vocabulary(job("good\nb\xff"
                                 "ad \xff\xfe\n\xc3\n"))
                .text.dropped_bytes,
            4);
  EXPECT_THAT(log.text(), HasSubstr("4 bytes that are not UTF-8 were left out, the first in"));
  EXPECT_THAT(log.text(), HasSubstr("in.txt:2"));
  EXPECT_TRUE(Vocabulary::load(dir_.file("vocab.txt")).find("##d"));
}

TEST_F(VocabularyJobTest, ReplacesAVocabularyOnlyWhenTold) {
  train_vocabulary(job("a b"));
  const std::string before = read_file(dir_.file("vocab.txt"));
  VocabularyJob again = job("other words");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(again); }),
              HasSubstr("vocab.txt exists"));
  EXPECT_EQ(read_file(dir_.file("vocab.txt")), before);
  again.overwrite = true;
  train_vocabulary(again);
  EXPECT_NE(read_file(dir_.file("vocab.txt")), before);
}

TEST_F(VocabularyJobTest, ReplacesTheOptionsOfAnotherVocabularyOnlyWhenTold) {
  write_file(dir_.file("tokenizer_config.json"), "{}");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job("words")); }),
              HasSubstr("tokenizer_config.json exists"));
}

TEST_F(VocabularyJobTest, TheCaseIsTheUsersChoice) {
  VocabularyJob cased = job("Über Über");
  cased.tokenizer.lower_case = false;
  train_vocabulary(cased);
  EXPECT_TRUE(Vocabulary::load(cased.out).find("Über"));
  EXPECT_FALSE(load_tokenizer_config(cased.out)->lower_case);
  cased.tokenizer.lower_case = cased.overwrite = true;
  train_vocabulary(cased);
  EXPECT_TRUE(Vocabulary::load(cased.out).find("uber"));
  EXPECT_TRUE(load_tokenizer_config(cased.out)->lower_case);
}

TEST_F(VocabularyJobTest, SplittingTheTextOverFilesChangesNothing) {
  train_vocabulary(job("the cat sat\nthe cats sat on the mat\n"));
  const std::string whole = read_file(dir_.file("vocab.txt"));
  VocabularyJob parts = job("the cat sat");
  write_file(dir_.file("in2.txt"), "the cats sat on the mat");
  parts.text.input = dir_.file("in2.txt") + "," + dir_.file("in.txt");
  parts.out = dir_.file("vocab2.txt");
  train_vocabulary(parts);
  EXPECT_EQ(read_file(parts.out), whole);
}

TEST(LineReader, GivesEveryLineWithItsNumber) {
  const TempDir dir;
  const std::string longer(600'000, 'x');  // more than the reader's buffer
  write_file(dir.file("t"), "one\r\n\n" + longer + "\nlast");
  LineReader lines(dir.file("t"));
  std::string line;
  Words all;
  while (lines.next(line)) all.push_back(line);
  EXPECT_THAT(all, ElementsAre("one", "", longer, "last"));
  EXPECT_EQ(lines.number(), 4);
}

TEST(LineReader, RefusesAFileThatIsOneGiantLine) {
  const TempDir dir;
  write_file(dir.file("t"), std::string(kMaxLineBytes + 1, 'x'));
  LineReader lines(dir.file("t"));
  std::string line;
  EXPECT_THAT(error_of<UsageError>([&] { lines.next(line); }),
              HasSubstr("t:1: a line of more than 64 MiB"));
}

TEST(SentenceSplitter, CutsAtTheEndsOfSentences) {
  Words sentences;
  SentenceSplitter().split("It rains.  Does it? Yes! See section 3.2 of the manual.", sentences);
  EXPECT_THAT(sentences,
              ElementsAre("It rains.", "Does it?", "Yes!", "See section 3.2 of the manual."));
}

}  // namespace
}  // namespace smelt
