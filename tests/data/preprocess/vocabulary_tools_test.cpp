// Vocabularies trained with SentencePiece, sampling and threads; adding words to a vocabulary; how
// well a vocabulary fits a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/stream_random.h"
#include "data/preprocess/vocabulary_extend.h"
#include "data/preprocess/vocabulary_job.h"
#include "data/preprocess/vocabulary_report.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/stderr_terminal.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Returns lines of made-up words of two to four syllables with a skewed frequency distribution.
std::string made_up_text(int lines) {
  const std::vector<std::string> syllables{"ka",  "lo",  "mi", "tur", "ben",
                                           "sha", "ing", "er", "qo",  "x\xC3\xA9"};
  StreamRandom random(3, 0, 0);
  std::string text;
  for (int line = 0; line < lines; ++line) {
    for (int word = 0; word < 12; ++word) {
      StreamRandom spelling(
          4, static_cast<std::uint64_t>(random.below(300) * random.below(300) / 300), 0);
      for (std::int64_t i = spelling.randint(2, 4); i > 0; --i)
        text += syllables[spelling.below(10)];
      text += ' ';
    }
    text += '\n';
  }
  return text;
}

class VocabularyTools : public testing::Test {
 protected:
  VocabularyJob job(const std::string& out, VocabularyType type = VocabularyType::wordpiece) {
    VocabularyJob job;
    job.text.input = dir_.file("in.txt");
    job.out = dir_.file(out);
    job.type = type;
    job.trainer.vocab_size = 120;
    if (out.ends_with(".model")) job.tokenizer.lower_case = false;
    return job;
  }
  std::string trained(const VocabularyJob& job) {
    train_vocabulary(job);
    return io::read_file(job.out);
  }
  void SetUp() override { io::write_file(dir_.file("in.txt"), made_up_text(2000)); }

  TempDir dir_;
};

TEST_F(VocabularyTools, VocabularyDoesNotDependOnThreadsOrInputFiles) {
  const std::string whole = trained(job("a.txt"));
  for (const int threads : {1, 3}) {
    VocabularyJob other = job(str("threads", threads, ".txt"));
    other.threads = threads;
    EXPECT_EQ(trained(other), whole);
  }
  const std::string text = io::read_file(dir_.file("in.txt"));
  const std::size_t half = text.find('\n', text.size() / 2) + 1;
  io::write_file(dir_.file("part1.txt"), text.substr(0, half));
  io::write_file(dir_.file("part2.txt"), text.substr(half));
  for (const double sample : {1.0, 0.25}) {
    VocabularyJob one = job(str("one", sample, ".txt")), cut = job(str("cut", sample, ".txt"));
    one.text.sample = cut.text.sample = sample;
    cut.text.input = dir_.file("part*.txt");
    EXPECT_EQ(trained(cut), trained(one));
  }
}

// The tokenizer makes them [UNK], and a text without spaces would be stored as one word.
TEST_F(VocabularyTools, LeaveOutWordsThatAreTooLong) {
  const std::string longest(200, 'a');
  for (const std::string& more : {std::string("b"), std::string(1'000'000, 'b'), "\xC3\xA9"s}) {
    io::write_file(dir_.file("in.txt"),
                   longest + " " + longest + more + "\n" + longest + more + ".");
    text::SampledLines lines({.input = dir_.file("in.txt")});
    EXPECT_THAT(text::count_words(lines, text::bert_words({.lower_case = false}), 1),
                ElementsAre(Pair(".", 1), Pair(longest, 1)));
  }
  text::SampledLines lines({.input = dir_.file("in.txt")});
  EXPECT_THAT(text::count_words(lines, text::bert_words({.max_characters_per_word = 1}), 1),
              ElementsAre(Pair(".", 1)));
}

TEST_F(VocabularyTools, ShowTheirProgressOnATerminal) {
  io::write_file(dir_.file("in.txt"), "aa ab aa ab\n");
  VocabularyJob job;
  job.text.input = dir_.file("in.txt");
  job.out = dir_.file("v.txt");
  job.trainer.vocab_size = 12;
  const StderrTerminal terminal;
  train_vocabulary(job);
  EXPECT_THAT(terminal.text(),
              AllOf(HasSubstr("reading [==========] 12 B/12 B (100.0 %)"), HasSubstr("merging [")));
}

TEST_F(VocabularyTools, SamplesAboutTheRequestedShareOfLines) {
  VocabularyJob some = job("a.txt");
  some.text.sample = 0.25;
  EXPECT_NEAR(static_cast<double>(train_vocabulary(some).text.lines), 500,
              100);  // five standard deviations
  for (const double wrong : {0.0, -1.0, 1.5}) {
    some.text.sample = wrong;
    some.overwrite = true;
    EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(some); }),
                HasSubstr(": must be greater than 0 and at most 1"));
  }
}

TEST_F(VocabularyTools, ReservedTokensFollowTheSpecialTokens) {
  VocabularyJob reserved = job("a.txt");
  reserved.trainer.reserved = {"[DATE]", "[NAME]"};
  reserved.unused = 2;
  EXPECT_THAT(trained(reserved),
              testing::StartsWith(
                  "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n[DATE]\n[NAME]\n[unused0]\n[unused1]\n"));
  reserved.trainer.reserved = {"[MASK]"};
  reserved.overwrite = true;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(reserved); }),
              HasSubstr("the token '[MASK]' is reserved twice"));
}

TEST_F(VocabularyTools, SentencePieceVocabulariesCoverEveryWordOfTheText) {
  for (const char* type : {"unigram", "bpe"}) {
    const VocabularyJob by = job(str(type, ".txt"), parse_vocabulary_type(type));
    const VocabularySummary s = train_vocabulary(by);
    EXPECT_EQ(s.size, 120);
    const text::BertTokenizer tokenizer = text::BertTokenizer::load(by.out, {});
    EXPECT_EQ(tokenizer.vocabulary().token(4), "[MASK]");
    EXPECT_FALSE(tokenizer.vocabulary().find("<unk>"));
    std::vector<std::int32_t> ids;
    tokenizer.encode(io::read_file(dir_.file("in.txt")), ids);
    EXPECT_EQ(std::ranges::count(ids, tokenizer.unknown()), 0) << type;
  }
}

// Compares with Google's program of the library's version, run with the same settings on the same
// lines.
TEST_F(VocabularyTools, SentencePieceModelsMatchSpmTrain) {
  if (run_command("command -v spm_train").status != 0)
    SKIP_OR_FAIL_WITHOUT("oracle", "no spm_train: install the package sentencepiece");
  for (const char* type : {"unigram", "bpe"}) {
    const VocabularyJob by = job(str(type, ".model"), parse_vocabulary_type(type));
    train_vocabulary(by);
    const text::SentencePieceTokenizer model(by.out);
    EXPECT_EQ(model.token(0), "<pad>");
    EXPECT_EQ(model.token(1), "</s>");
    EXPECT_EQ(model.token(2), "<unk>");
    std::string pieces;
    for (std::int32_t id = 0; id < model.size(); ++id) pieces += model.token(id) + "\n";
    const CommandOutput theirs = run_command(
        str("cd ", dir_.path(), " && spm_train --input=in.txt --model_prefix=theirs --model_type=",
            type, " --vocab_size=120 --pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1 --num_threads=8",
            " --hard_vocab_limit=false --minloglevel=3 && cut -f1 theirs.vocab"));
    EXPECT_EQ(theirs.status, 0);
    EXPECT_EQ(theirs.text, pieces) << type;
  }
}

TEST_F(VocabularyTools, SentencePieceModelsHaveTheRequestedControlPiecesAndIds) {
  const auto pieces_of = [&](const std::string& name, const std::vector<std::string>& special) {
    VocabularyJob by = job(name, VocabularyType::unigram);
    by.trainer.reserved = special;
    train_vocabulary(by);
    const text::SentencePieceTokenizer model(by.out);
    std::vector<std::string> pieces;
    for (std::int32_t id = 0; id < 6; ++id) pieces.push_back(model.token(id));
    std::vector<std::int32_t> ids;
    model.encode("<mask> <cls>", ids);
    for (const std::int32_t id : ids) EXPECT_TRUE(id == model.unknown() || id >= 6) << id;
    EXPECT_EQ(model.token(model.unknown()), "<unk>");
    return pieces;
  };
  EXPECT_THAT(pieces_of("a.model", {"<cls>", "<mask>", "<sep>"}),
              ElementsAre("<pad>", "</s>", "<unk>", "<cls>", "<mask>", "<sep>"));
  EXPECT_THAT(pieces_of("b.model", {"<pad>", "<unk>", "<s>", "</s>", "<mask>", "<sep>"}),
              ElementsAre("<pad>", "<unk>", "<s>", "</s>", "<mask>", "<sep>"));
  EXPECT_THAT(pieces_of("c.model", {"<cls>", "<sep>", "</s>", "<unk>", "<mask>", "<x>"}),
              ElementsAre("<cls>", "<sep>", "</s>", "<unk>", "<mask>", "<x>"));
  EXPECT_THAT(error_of<UsageError>([&] { pieces_of("d.model", {"<mask>", "</s>"}); }),
              HasSubstr("vocab: --special: '</s>' is already a special piece\n  hint: leave it "
                        "out, or include <unk> to list all special pieces yourself"));
  EXPECT_THAT(error_of<UsageError>([&] { pieces_of("d.model", {"<mask>", "<mask>"}); }),
              HasSubstr("vocab: --special names '<mask>' twice\n  hint: name each piece once"));
}

TEST_F(VocabularyTools, RejectConflictingSettings) {
  EXPECT_THAT(error_of<UsageError>([&] { parse_vocabulary_type("unigramm"); }),
              HasSubstr("vocab: --type 'unigramm' is unknown\n  hint: did you mean 'unigram'?"));
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(job("a.model")); }),
              HasSubstr("a.model is a SentencePiece model, which cannot have the type wordpiece"));
  EXPECT_THAT(
      error_of<UsageError>([&] { train_vocabulary(job("a.model", VocabularyType::byte_bpe)); }),
      HasSubstr("a.model is a SentencePiece model, which cannot have the type byte_bpe"));
  EXPECT_THAT(
      error_of<UsageError>([&] { train_vocabulary(job("a.txt", VocabularyType::byte_bpe)); }),
      HasSubstr("a.txt cannot hold a vocabulary of type byte_bpe"));
  VocabularyJob wrong = job("a.txt", VocabularyType::bpe);
  wrong.coverage = 1.5;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(wrong); }),
              HasSubstr("--coverage 1.5: must be greater than 0 and at most 1"));
  wrong = job("a.txt", VocabularyType::bpe);
  wrong.trainer.vocab_size = 8;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(wrong); }),
              HasSubstr("bpe pieces cannot be trained: "));
  wrong.trainer.vocab_size = 30;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(wrong); }),
              HasSubstr("25 pieces are too few for 17 characters, which need two pieces each"));
  wrong = job("c.txt");
  wrong.unused = -1;
  EXPECT_THAT(error_of<UsageError>([&] { train_vocabulary(wrong); }),
              HasSubstr("--unused -1 or --threads 0 is less than 0"));
  io::write_file(dir_.file("in.txt"), "\n \n");
  EXPECT_THAT(
      error_of<UsageError>([&] { train_vocabulary(job("b.txt", VocabularyType::unigram)); }),
      HasSubstr("the text has no words"));
}

TEST_F(VocabularyTools, ExtensionReplacesUnusedTokensWithTheMostUsefulWords) {
  io::write_file(
      dir_.file("v.txt"),
      "[PAD]\n[unused1]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngene\n##tic\n##s\nthe\n[UNUSED_7]\n");
  io::write_file(dir_.file("in.txt"),
                 "the genetics genetics genetics genetic genetic\nthe qua qua qua qua rare gene\n");
  ExtendJob extend;
  extend.text.input = dir_.file("in.txt");
  extend.vocab = dir_.file("v.txt");
  extend.out = dir_.file("w.txt");
  extend.min_frequency = 2;
  const ExtendSummary s = extend_vocabulary(extend);
  EXPECT_EQ(s.unused, 2);
  EXPECT_THAT(s.added, ElementsAre(Pair("genetics", 6), Pair("qua", 4)));
  EXPECT_EQ(io::read_file(extend.out),
            "[PAD]\ngenetics\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngene\n##tic\n##s\nthe\nqua\n");
  EXPECT_EQ(s.pieces_before, 2 + 3 * 3 + 2 * 2 + 4 + 1 + 1);
  EXPECT_EQ(s.pieces_after, s.pieces_before - 6);
  EXPECT_EQ(s.unknown_before, 5);
  EXPECT_EQ(s.unknown_after, 1);
  EXPECT_THAT(error_of<UsageError>([&] { extend_vocabulary(extend); }), HasSubstr("w.txt exists"));
  extend.overwrite = true;
  extend.count = 3;
  EXPECT_THAT(error_of<UsageError>([&] { extend_vocabulary(extend); }),
              HasSubstr("v.txt: has 2 unused tokens, fewer than --count 3"));
  extend.count = 0;
  extend.min_frequency = 100;
  EXPECT_THAT(error_of<UsageError>([&] { extend_vocabulary(extend); }),
              HasSubstr("no new word would reduce the number of pieces"));
  io::write_file(dir_.file("full.txt"), "[PAD]\n[UNK]\nunused\n[unused]\n");
  extend.vocab = dir_.file("full.txt");
  EXPECT_THAT(error_of<UsageError>([&] { extend_vocabulary(extend); }),
              HasSubstr("full.txt: has no [unusedN] token"));
  extend.min_frequency = 0;
  EXPECT_THAT(error_of<UsageError>([&] { extend_vocabulary(extend); }),
              HasSubstr("--min-frequency 0 is too small"));
}

TEST_F(VocabularyTools, ExtensionKeepsThePrefixOfATokenizerJson) {
  const text::Vocabulary other({"[UNK]", "[CLS]", "[SEP]", "gene", "__s", "[unused0]"}, "x", "__");
  io::write_file(dir_.file("v.json"), text::tokenizer_json(other, {}));
  io::write_file(dir_.file("in.txt"), "genes qua qua");
  ExtendJob extend;
  extend.text.input = dir_.file("in.txt");
  extend.vocab = dir_.file("v.json");
  extend.out = dir_.file("w.txt");
  extend.min_frequency = 2;
  EXPECT_THAT(error_of<UsageError>([&] { extend_vocabulary(extend); }),
              HasSubstr("w.txt: a vocab.txt's pieces continue words by '##'"));
  extend.out = dir_.file("w.json");
  EXPECT_THAT(extend_vocabulary(extend).added, ElementsAre(Pair("qua", 2)));
  const text::BertTokenizer extended = text::BertTokenizer::load(extend.out, {});
  EXPECT_EQ(extended.tokenize("genes qua"), (std::vector<std::string>{"gene", "__s", "qua"}));
}

TEST_F(VocabularyTools, ReportCountsPiecesWordsAndScripts) {
  io::write_file(dir_.file("v.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nab\n##c\nd\n");
  io::write_file(dir_.file("in.txt"), "abc ab\nd \xCE\xB1\xCE\xB2 ab\n");
  const VocabularyReport r =
      report_vocabulary("v.txt", *text::load_tokenizer(dir_.file("v.txt"), {}),
                        words_of_report({.input = dir_.file("in.txt")}, 2));
  EXPECT_EQ(r.size, 8);
  EXPECT_EQ(r.used, 4);
  EXPECT_EQ(r.words, 5);
  EXPECT_EQ(r.pieces, 6);
  EXPECT_EQ(r.unknown, 1);
  EXPECT_EQ(r.whole_words, 3);
  ASSERT_EQ(r.scripts.size(), 2u);
  EXPECT_EQ(r.scripts[0].script, "Latin");
  EXPECT_EQ(r.scripts[0].characters, 8u);
  EXPECT_EQ(r.scripts[1].script, "Greek");
  EXPECT_EQ(r.scripts[1].unknown, 1u);
}

}  // namespace
}  // namespace smelt::data
