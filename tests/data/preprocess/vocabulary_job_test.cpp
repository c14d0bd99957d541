#include "data/preprocess/vocabulary_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <thread>

#include "base/error.h"
#include "base/stream_random.h"
#include "io/filesystem/file.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class VocabularyJobTest : public testing::Test {
 protected:
  VocabularyJob job(std::string_view text) {
    io::write_file(dir_.file("in.txt"), text);
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
            30 - 5 - 10 - 4 - 7);  // special tokens; t ##h ##e c ##a ##t s r ##n .; ##at ##he
                                   // cat the; h e a n ##c ##r ##s
  EXPECT_EQ(s.words, 8);
  EXPECT_EQ(s.distinct_words, 5);
  text::Vocabulary::load(dir_.file("vocab.txt")).check_special_tokens();
}

TEST_F(VocabularyJobTest, MakesATokenizerJsonOfEachType) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "The cat sat on the mat. The dog sat, too.\n";
  for (const auto type : {VocabularyType::unigram, VocabularyType::bpe, VocabularyType::byte_bpe}) {
    VocabularyJob job = this->job(text);
    job.out = dir_.file("tokenizer.json");
    job.type = type;
    job.overwrite = true;
    job.unused = 2;
    job.trainer.vocab_size = 300;
    const VocabularySummary s = train_vocabulary(job);
    const std::string bytes = io::read_file(job.out);
    train_vocabulary(job);
    EXPECT_EQ(io::read_file(job.out), bytes);
    const text::BertTokenizer tokenizer = text::BertTokenizer::load(job.out, {});
    ASSERT_NE(tokenizer.subword(), nullptr);
    EXPECT_EQ(tokenizer.size(), 300);
    EXPECT_EQ(s.size, 300);
    EXPECT_GT(s.unused, 2);
    EXPECT_EQ(tokenizer.vocabulary().id("[MASK]"), 4);
    EXPECT_EQ(tokenizer.vocabulary().id("[unused1]"), 6);
    const auto ids = tokenizer.encode("the cat sat");
    EXPECT_EQ(tokenizer.decode(ids), "the cat sat");
    EXPECT_LE(ids.size(), 8u);
  }
}

TEST_F(VocabularyJobTest, CountsAndNamesWordsThatAreTooLong) {
  const std::string a(101, 'a'), b(150, 'b');
  VocabularyJob job = this->job(str("the ", a, " ", b, " ", a, " cat\n"));
  job.tokenizer = text::new_vocabulary_options({}, "", "--language");
  {
    const CapturedLog log;
    EXPECT_EQ(train_vocabulary(job).words, 2);
    EXPECT_THAT(log.text(),
                HasSubstr("vocab: 3 words of more than 100 characters are left out; "
                          "each is [UNK] (aaaaaaaaaaaaaaaaaaa…, bbbbbbbbbbbbbbbbbbb…)"));
  }
  io::write_file(dir_.file("in.txt"), b + "\n");
  job.overwrite = true;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job); }),
              HasSubstr("in.txt: each of its 1 word has more than 100 characters"));
}

TEST_F(VocabularyJobTest, AutoChoosesTheTypeByScript) {
  const CapturedLog log;
  const std::map<std::string, std::string> types{
      {"The cat sat on the mat.\n", "WordPiece"},
      {"Кошка сидела на ковре.\n", "WordPiece"},
      {"고양이가 앉았다\n", "WordPiece"},
      {"猫坐在垫子上。狗也坐着。\n", "BPE"},
      {"ねこはマットにすわった。\n", "BPE"},
      {"แมวนั่งบนเสื่อ\n", "Unigram"},
      {"แมวนั่งบนเสื่อ 猫\n", "Unigram"},
      {"ភាសា\u200bខ្មែរ\u200bជា\u200bភាសា\n", "WordPiece"}};
  for (const auto& [text, expected] : types) {
    VocabularyJob job = this->job(text);
    job.out = dir_.file("tokenizer.json");
    job.type = VocabularyType::choose;
    job.overwrite = true;
    job.trainer.vocab_size = 60;
    train_vocabulary(job);
    EXPECT_THAT(io::read_file(job.out), HasSubstr("\"type\": \"" + expected + "\"")) << text;
  }
  EXPECT_THAT(log.text(), AllOf(HasSubstr("vocab: type unigram, because 100.0 % of the text's "
                                          "letters are of scripts without spaces between words"),
                                HasSubstr("vocab: type bpe, because 100.0 % of the text's letters "
                                          "are of Chinese or Japanese scripts without spaces")));
}

TEST_F(VocabularyJobTest, WarnsOfWordPiecesForTextWithoutSpaces) {
  const CapturedLog log;
  VocabularyJob job = this->job("ねこはマットにすわった。\n");
  train_vocabulary(job);
  EXPECT_THAT(log.text(),
              AllOf(HasSubstr("vocab: 100.0 % of the text's letters are of scripts without "
                              "spaces between words"),
                    HasSubstr("hint: use vocab.type=auto (--type auto)")));
}

TEST_F(VocabularyJobTest, WritesAVocabJsonThatSplitsTextAsGpt2Does) {
  VocabularyJob job = this->job("The cat sat. The cat ran.\n");
  job.out = dir_.file("vocab.json");
  job.type = VocabularyType::byte_bpe;
  job.trainer.vocab_size = 300;
  EXPECT_THAT(
      error_of<UsageError>([&] { train_vocabulary(job); }),
      HasSubstr("vocab.json cannot store that text is lower-cased or accents are stripped"));
  job.tokenizer.lower_case = false;
  train_vocabulary(job);
  const text::BertTokenizer tokenizer = text::BertTokenizer::load(job.out, {});
  EXPECT_NE(tokenizer.encode("The cat"), tokenizer.encode(" The cat"));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("The cat")), "The cat");
}

TEST_F(VocabularyJobTest, ReadsAPipeOnce) {
  VocabularyJob job = this->job("");
  job.text.input = dir_.file("pipe");
  ASSERT_EQ(::mkfifo(job.text.input.c_str(), 0600), 0);
  {
    std::jthread writer([&] { std::ofstream(job.text.input) << "The cat sat. The cat ran.\n"; });
    EXPECT_EQ(train_vocabulary(job).words, 8);
  }
  job.type = VocabularyType::choose;
  job.overwrite = true;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job); }),
              HasSubstr("--type auto reads the text twice, but --input " + job.text.input +
                        " can be read only once"));
}

TEST_F(VocabularyJobTest, RejectsInvalidInput) {
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

TEST_F(VocabularyJobTest, ReadsTextInEveryFormat) {
  train_vocabulary(job("The cat sat.\nThe cat ran.\n"));
  const std::string want = io::read_file(dir_.file("vocab.txt"));
  io::write_file(dir_.file("in.jsonl"), "{\"id\": 1, \"body\": \"The cat sat.\\nThe cat ran.\"}\n");
  io::write_file(dir_.file("in.tsv"), "id\tbody\n1\tThe cat sat.\n2\tThe cat ran.\n");
  io::write_file(dir_.file("in.csv"), "id,body\n1,\"The cat sat.\nThe cat ran.\"\n");
  for (const char* name : {"in.jsonl", "in.tsv", "in.csv"}) {
    VocabularyJob rows = job("");
    rows.text.input = dir_.file(name);
    rows.text.format.field = "body";
    rows.overwrite = true;
    EXPECT_EQ(train_vocabulary(rows).text.lines, 2);
    EXPECT_EQ(io::read_file(dir_.file("vocab.txt")), want) << name;
    rows.text.format.field = "bodi";
    EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(rows); }),
                HasSubstr("did you mean 'body'?"));
  }
}

TEST_F(VocabularyJobTest, WritesATokenizerJsonIfTheOutputHasThatName) {
  VocabularyJob lines = job("The cat sat. The cat ran.\n"), json = lines;
  train_vocabulary(lines);
  json.out = dir_.file("json/tokenizer.json");
  train_vocabulary(json);
  EXPECT_EQ(text::Vocabulary::load(json.out).tokens(), text::Vocabulary::load(lines.out).tokens());
  EXPECT_FALSE(std::filesystem::exists(dir_.file("json/tokenizer.tokenizer_config.json")));
}

// The SentencePiece library drops texts above its size limit, and texts with its sign for unknown
// pieces.
TEST_F(VocabularyJobTest, SentencePieceReadsLongLinesInParts) {
  std::string line;
  StreamRandom random(1, 0, 0);
  while (line.size() < (1 << 20) + 1000) line += str("w", random.below(300), " ");
  VocabularyJob one = job(line + "\xE2\x96\x85 zebra\n");
  one.type = VocabularyType::bpe;
  one.coverage = 1;
  one.out = dir_.file("x.model");
  one.tokenizer.lower_case = false;
  EXPECT_EQ(train_vocabulary(one).text.lines, 1);
  const auto tokenizer = text::load_tokenizer(one.out, {});
  for (const char* word : {"w12", "w299", "zebra"}) {
    std::vector<std::int32_t> ids;
    tokenizer->encode(word, ids);
    EXPECT_EQ(std::ranges::count(ids, tokenizer->unknown()), 0) << word;
  }
}

TEST_F(VocabularyJobTest, ReservedTokenThatOccursInTheTextIsNotDuplicated) {
  for (const VocabularyType type : {VocabularyType::wordpiece, VocabularyType::unigram}) {
    VocabularyJob same = job("the cat sat on the mat. the cat ran to the hat.\n");
    same.type = type;
    same.trainer.vocab_size = 60;
    same.trainer.reserved = {"the", "c"};
    same.overwrite = true;
    train_vocabulary(same);
    const text::Vocabulary vocabulary = text::Vocabulary::load(same.out);
    EXPECT_EQ(vocabulary.id("the"), 5);
    EXPECT_EQ(vocabulary.id("c"), 6);
    EXPECT_EQ(vocabulary.size(), 60);
  }
}

TEST_F(VocabularyJobTest, NeverKeepsTheSettingsOfAnotherVocabulary) {
  VocabularyJob first = job("The cat sat.\n");
  train_vocabulary(first);
  first.overwrite = true;
  first.tokenizer.lower_case = false;
  // The settings file cannot be written because a folder has its name.
  std::filesystem::remove(dir_.file("tokenizer_config.json"));
  std::filesystem::create_directories(dir_.file("tokenizer_config.json/x"));
  const std::string before = io::read_file(first.out);
  EXPECT_THROW(train_vocabulary(first), Error);
  EXPECT_EQ(io::read_file(first.out), before);
  std::filesystem::remove_all(dir_.file("tokenizer_config.json"));
  train_vocabulary(first);
  EXPECT_TRUE(text::Vocabulary::load(first.out).find("T"));
  EXPECT_FALSE(text::load_tokenizer_config(first.out)->lower_case);
}

TEST_F(VocabularyJobTest, LeavesOutBytesThatAreNotUtf8AndWarnsOnce) {
  const CapturedLog log;
  EXPECT_EQ(train_vocabulary(job("good\nb\xff"
                                 "ad \xff\xfe\n\xc3\n"))
                .text.dropped_bytes,
            4);
  EXPECT_THAT(log.text(), HasSubstr("4 bytes that are not UTF-8 were left out, the first in"));
  EXPECT_THAT(log.text(), HasSubstr("in.txt:2"));
  EXPECT_TRUE(text::Vocabulary::load(dir_.file("vocab.txt")).find("##d"));
}

TEST_F(VocabularyJobTest, ReplacesAVocabularyOnlyWithOverwrite) {
  train_vocabulary(job("a b"));
  const std::string before = io::read_file(dir_.file("vocab.txt"));
  VocabularyJob again = job("other words");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(again); }),
              HasSubstr("vocab.txt exists"));
  EXPECT_EQ(io::read_file(dir_.file("vocab.txt")), before);
  again.overwrite = true;
  train_vocabulary(again);
  EXPECT_NE(io::read_file(dir_.file("vocab.txt")), before);
}

TEST_F(VocabularyJobTest, ReplacesTokenizerOptionsOnlyWithOverwrite) {
  io::write_file(dir_.file("tokenizer_config.json"), "{}");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job("words")); }),
              HasSubstr("tokenizer_config.json exists"));
}

TEST_F(VocabularyJobTest, ReplacesCompanionFilesOnlyWithOverwrite) {
  VocabularyJob job = this->job("words");
  job.out = dir_.file("tokenizer.json");
  io::write_file(dir_.file("tokenizer_config.json"), "{}");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job); }),
              HasSubstr("tokenizer_config.json exists"));
  job.out = dir_.file("x-vocab.json");
  job.type = VocabularyType::byte_bpe;
  job.tokenizer.lower_case = false;
  io::write_file(dir_.file("x-merges.txt"), "");
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job); }),
              HasSubstr("x-merges.txt exists"));
}

TEST_F(VocabularyJobTest, RejectsNormalizationThatTheOutputFormatCannotStore) {
  const auto refusal = [](const VocabularyJob& job) {
    return error_of<UsageError>([&] { train_vocabulary(job); });
  };
  VocabularyJob model = job("words");
  model.out = dir_.file("x.model");
  model.type = VocabularyType::unigram;
  EXPECT_THAT(refusal(model),
              HasSubstr("x.model is a SentencePiece model, which cannot lower-case text "
                        "(--lower-case true, vocab.lower_case)\n  hint: leave the option out"));
  model.tokenizer = {.lower_case = false, .strip_accents = true};
  EXPECT_THAT(refusal(model),
              HasSubstr("cannot strip accents (--strip-accents true, vocab.strip_accents)"));
  VocabularyJob other = job("words");
  other.normalization = "nfc";
  EXPECT_THAT(refusal(other),
              HasSubstr("vocab: --normalization nfc (vocab.normalization) needs a SentencePiece "
                        "model, but --out " +
                        other.out + " does not end in .model\n  hint: leave out --normalization"));
  other = job("words");
  other.byte_fallback = true;
  EXPECT_THAT(
      refusal(other),
      HasSubstr(
          "vocab: --byte-fallback (vocab.byte_fallback) needs a SentencePiece model, but --out "));
}

TEST_F(VocabularyJobTest, CountsTheWordsOfAVocabJsonByItsOwnSplitting) {
  VocabularyJob job = this->job("cafe\u0301 a\ncafe\u0301 a\n");
  job.type = VocabularyType::byte_bpe;
  job.tokenizer = text::new_vocabulary_options({}, "", "--language");
  job.trainer.vocab_size = 300;
  job.out = dir_.file("vocab.json");
  EXPECT_EQ(train_vocabulary(job).distinct_words, 3);  // "cafe", U+0301, " a"
  EXPECT_TRUE(text::BertTokenizer::load(job.out, {}).vocabulary().find("cafe"));
  job.out = dir_.file("tokenizer.json");
  EXPECT_EQ(train_vocabulary(job).distinct_words, 2);  // " café", " a"
  EXPECT_TRUE(text::BertTokenizer::load(job.out, {}).vocabulary().find("ĠcafÃ©"));
}

TEST_F(VocabularyJobTest, UsesTheRequestedCase) {
  VocabularyJob cased = job("Über Über");
  cased.tokenizer.lower_case = false;
  train_vocabulary(cased);
  EXPECT_TRUE(text::Vocabulary::load(cased.out).find("Über"));
  EXPECT_FALSE(text::load_tokenizer_config(cased.out)->lower_case);
  cased.tokenizer.lower_case = cased.overwrite = true;
  train_vocabulary(cased);
  EXPECT_TRUE(text::Vocabulary::load(cased.out).find("uber"));
  EXPECT_TRUE(text::load_tokenizer_config(cased.out)->lower_case);
}

TEST_F(VocabularyJobTest, SplittingTheTextOverFilesChangesNothing) {
  train_vocabulary(job("the cat sat\nthe cats sat on the mat\n"));
  const std::string whole = io::read_file(dir_.file("vocab.txt"));
  VocabularyJob parts = job("the cat sat");
  io::write_file(dir_.file("in2.txt"), "the cats sat on the mat");
  parts.text.input = dir_.file("in2.txt") + "," + dir_.file("in.txt");
  parts.out = dir_.file("vocab2.txt");
  train_vocabulary(parts);
  EXPECT_EQ(io::read_file(parts.out), whole);
}

}  // namespace
}  // namespace smelt::data
