// Splitting text into words with a command. `sed -u` takes the place of programs such as MeCab.
#include "text/tokenizers/segmenter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/parallel.h"
#include "base/run_program.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/tokenizers/sentencepiece.h"
#include "text/tokenizers/sentencepiece_trainer.h"
#include "text/tokenizers/subword_tokenizer.h"
#include "text/tokenizers/text_pair.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/word_counts.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::text {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

// Puts a space after each "ab" and "c".
constexpr const char* kCommand = "sed -u 's/ab\\|c/& /g'";
const std::vector<std::string> kTokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]",   "[MASK]",
                                       "ab",    "c",     "d",     "[unused]"};

class SegmenterTest : public testing::Test {
 protected:
  SegmenterTest() { allow_segment_command(kCommand); }
  TokenizerOptions options() const {
    return {.lower_case = false, .split_chinese = false, .segment_command = kCommand};
  }
  BertTokenizer tokenizer() const { return {Vocabulary(kTokens), options()}; }
  std::string split_error(const std::string& command, const std::string& text) const {
    allow_segment_command(command);
    return error_of<UsageError>([&] { Segmenter(command, LineFilter::Seconds(30)).split(text); });
  }

  TempDir dir_;
};

TEST_F(SegmenterTest, SeparatesWordsByASingleSpace) {
  const auto splits = Segmenter::of(kCommand);
  EXPECT_EQ(splits->split("abcd ab"), "ab c d ab");
  EXPECT_EQ(splits->split(" ab\u3000c\tab "), " ab c ab ");
  EXPECT_EQ(splits->split("ab\ncd"), "ab c d") << "a text of two lines is one line";
  EXPECT_EQ(splits->split(" \n"), " \n") << "blank text stays";
  EXPECT_THAT(splits->split_lines(std::vector<std::string>{"abc", "", "dab"}),
              ElementsAre("ab c", "", "dab"));
}

TEST_F(SegmenterTest, ReturnsTheRightLinesToEachThread) {
  const auto splits = Segmenter::of(kCommand);
  run_parallel(4, [&](int worker) {
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(splits->split(str("ab", worker, "c", i)), str("ab ", worker, "c ", i));
  });
}

TEST_F(SegmenterTest, RejectsACommandThatChangesMoreThanSpaces) {
  EXPECT_THAT(split_error("sed -u s/a/b/", "ca"),
              AllOf(HasSubstr("--segment-command (vocab.segment_command): 'sed -u s/a/b/' changed "
                              "'ca' to 'cb'; it may only add and remove spaces"),
                    HasSubstr("hint: ")));
  EXPECT_THAT(split_error("sed -u s/a//", "ca"), HasSubstr("changed 'ca' to 'c'"));
  EXPECT_THAT(split_error("sed -u s/a/ab/", "ca"), HasSubstr("changed 'ca' to 'cab'"));
  EXPECT_THAT(split_error("LC_ALL=C sed -u 's/$/\\xff/'", "ca"),
              HasSubstr("wrote bytes that are not UTF-8 for 'ca'"));
  EXPECT_THAT(split_error("exit 4", "ca"),
              HasSubstr("--segment-command (vocab.segment_command): 'exit 4' ended"));
}

TEST_F(SegmenterTest, RejectsAStoredCommandThatIsNotAllowed) {
  const TokenizerOptions options{.segment_command = "cat; true"};
  const BertTokenizer stored(Vocabulary(kTokens), options);
  EXPECT_THAT(error_of<UsageError>([&] { (void)stored.encode("ab"); }),
              AllOf(HasSubstr("is split into words by the command 'cat; true', which smelt does "
                              "not run unless you allow it"),
                    HasSubstr("--segment-command 'cat; true', in a recipe vocab.segment_command")));
  const TokenizerOptions quoted{.segment_command = "sed -u 's/a/b/g'"};
  const BertTokenizer other(Vocabulary(kTokens, "x/vocab.txt"), quoted);
  EXPECT_THAT(
      error_of<UsageError>([&] { (void)other.encode("ab"); }),
      AllOf(HasSubstr("x/vocab.txt: text for this vocabulary is split into words by "),
            HasSubstr("--segment-command " + shell_word(quoted.segment_command) + ", in a recipe")))
      << "can be pasted into a shell";
}

TEST_F(SegmenterTest, TryOutReportsAnUnusableCommand) {
  Segmenter::of(kCommand)->try_out();
  const auto failed = [](const std::string& command) {
    allow_segment_command(command);
    return error_of<UsageError>([&] { Segmenter::of(command)->try_out(); });
  };
  EXPECT_THAT(failed("no-such-program"), HasSubstr("ended (exit status 127)"));
  EXPECT_THAT(failed("sed -u 2d"), HasSubstr("ended (exit status 0) after 2 lines"));
  EXPECT_THAT(failed("sed -u s/w/v/"), HasSubstr("changed 'a word' to 'a vord'"));
}

TEST_F(SegmenterTest, TokenizersUseTheWordsAndKeepOffsetsOfTheText) {
  const BertTokenizer words = tokenizer();
  EXPECT_EQ(words.encode("abcd"), (Ids{5, 6, 7}));
  EXPECT_EQ(words.encode_with_offsets("abc  dab"),
            (std::vector<TokenSpan>{{5, 0, 2}, {6, 2, 3}, {1, 5, 8}}));
  EXPECT_TRUE(words.has_character("d")) << "no command is needed";
  Ids ids;
  words.encode_words("abcd", ids);
  EXPECT_EQ(ids, (Ids{1})) << "a word that is given as such is not split";
  const std::vector<std::string_view> two{"abcd", "c"};
  EXPECT_EQ(TextPairEncoder(words, 10).encode_words(two).ids, (Ids{2, 1, 6, 3}));
}

TEST_F(SegmenterTest, NormalizesTextBeforeTheCommand) {
  TokenizerOptions options{.lower_case = false, .nfc = true};
  options.segment_command = "sed -u 's/\u00e9/& /g'";
  allow_segment_command(options.segment_command);
  const BertTokenizer words(Vocabulary({"[UNK]", "\u00e9", "d"}), options);
  EXPECT_EQ(words.encode_with_offsets("e\u0301d"), (std::vector<TokenSpan>{{1, 0, 1}, {2, 3, 4}}));
}

TEST_F(SegmenterTest, KeepsAddedTokensWhole) {
  TokenizerOptions with_token = options();
  with_token.added = {{.id = 9, .content = "<abc>", .normalized = false}};
  const BertTokenizer words(Vocabulary(kTokens, "x", "##", with_token.added), with_token);
  EXPECT_EQ(words.encode("abc<abc>ab"), (Ids{5, 6, 9, 5}));
  EXPECT_EQ(words.encode_with_offsets("c<abc>ab"),
            (std::vector<TokenSpan>{{6, 0, 1}, {9, 1, 6}, {5, 6, 8}}));
}

TEST_F(SegmenterTest, KeepsTheLongestAddedToken) {
  TokenizerOptions with_tokens = options();
  with_tokens.added = {{.id = 9, .content = "<c", .normalized = false},
                       {.id = 10, .content = "<c>", .normalized = false}};
  const BertTokenizer words(Vocabulary(kTokens, "x", "##", with_tokens.added), with_tokens);
  EXPECT_EQ(words.encode("ab<c>ab"), (Ids{5, 10, 5}));
}

SubwordTokenizer subword() {
  SubwordFile file = own_subword_file(
      SubwordKind::unigram,
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "\u2581ab", "\u2581c", "ab", "c", "\u2581"},
      {.lower_case = false});
  file.scores = {0, 0, 0, 0, 0, -1, -1, -2, -2, -5};
  return {std::move(file), "tokenizer.json"};
}

TEST_F(SegmenterTest, UnigramModelsUseTheWords) {
  const BertTokenizer words(std::make_shared<const SubwordTokenizer>(subword()), kCommand);
  EXPECT_EQ(words.encode("abcab"), words.encode("ab c ab"));
  EXPECT_EQ(words.encode_with_offsets("abcab"),
            (std::vector<TokenSpan>{{5, 0, 2}, {6, 2, 3}, {5, 3, 5}}));
  Ids ids;
  words.encode_part("c", false, false, ids);  // a new word begins after [MASK]
  EXPECT_EQ(ids, (Ids{6}));
}

TEST_F(SegmenterTest, CommandIsStoredWithEveryKindOfVocabulary) {
  const BertTokenizer unigram(std::make_shared<const SubwordTokenizer>(subword()), kCommand);
  tokenizer().save(dir_.file("a/vocab.txt"));
  tokenizer().save(dir_.file("b/tokenizer.json"));
  unigram.save(dir_.file("c/tokenizer.json"));
  for (const char* name : {"a/vocab.txt", "b/tokenizer.json", "c/tokenizer.json"}) {
    const std::string path = dir_.file(name);
    const TokenizerOptions saved = name[0] == 'c' ? unigram.options() : tokenizer().options();
    EXPECT_EQ(BertTokenizer::load(path, {}).options(), saved) << name;
    EXPECT_EQ(load_tokenizer_config(path), saved) << name;
    const TokenizerFlags none{.segment_command = std::string(kNoSegmentCommand)};
    EXPECT_EQ(BertTokenizer::load(path, none).options().segment_command, "") << name;
    EXPECT_THAT(
        error_of<UsageError>([&] { BertTokenizer::load(path, {.segment_command = "cat"}); }),
        AllOf(HasSubstr("--segment-command: 'cat', but "),
              HasSubstr(str("tokenizer_config.json has '", kCommand, "'"))))
        << name;
  }
}

TEST_F(SegmenterTest, SavingWithoutACommandReplacesStoredOptions) {
  const std::string path = dir_.file("tokenizer.json");
  tokenizer().save(path);
  const BertTokenizer other(Vocabulary(kTokens), {.lower_case = true, .nfc = true});
  other.save(path);
  EXPECT_EQ(BertTokenizer::load(path, {}).options(), other.options());
}

TEST_F(SegmenterTest, UsesTheFlagIfTheVocabularyStoresNoCommand) {
  io::write_file(dir_.file("vocab.txt"), "[UNK]\nab\nc\n");
  const TokenizerFlags flags{.segment_command = kCommand};
  EXPECT_EQ(BertTokenizer::load(dir_.file("vocab.txt"), flags).encode("abc"), (Ids{1, 2}));
}

TEST_F(SegmenterTest, SentencePieceModelsUseTheWords) {
  const std::string path = dir_.file("vocab.model");
  std::int64_t left = 40;
  io::write_file(path, train_sentencepiece(
                           [&](std::string& text) {
                             text = "ab c d ab";
                             return left-- > 0;
                           },
                           {.type = "unigram", .size = 12}));
  store_segment_command(path, kCommand);
  const auto words = load_tokenizer(path, {});
  Ids split, given;
  words->encode("abcab", split);
  load_tokenizer(path, {.segment_command = std::string(kNoSegmentCommand)})
      ->encode("ab c ab", given);
  EXPECT_EQ(split, given);
  EXPECT_EQ(words->encode_with_offsets("abcab").back().end, 5u);
  store_segment_command(path, "");
  EXPECT_EQ(segment_command_of(path, {}), "");
}

TEST_F(SegmenterTest, VocabularyTrainingNormalizesLinesBeforeTheCommand) {
  const std::string command = "sed -u 's/\u00e9/& /g'";
  allow_segment_command(command);
  io::write_file(dir_.file("in.txt"), "e\u0301d\n");
  SampledLines lines({.input = dir_.file("in.txt"), .segment_command = command});
  std::string line;
  ASSERT_TRUE(lines.next(line));
  EXPECT_EQ(line, "\u00e9 d");
}

TEST_F(SegmenterTest, VocabularyTrainingSplitsLinesInBatches) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "abcd\n";
  io::write_file(dir_.file("in.txt"), text);
  SampledLines lines({.input = dir_.file("in.txt"), .segment_command = kCommand});
  std::string line;
  std::int64_t found = 0;
  for (; lines.next(line); ++found) ASSERT_EQ(line, "ab c d");
  EXPECT_EQ(found, 1000);
  EXPECT_EQ(lines.summary().lines, 1000);
}

}  // namespace
}  // namespace smelt::text
