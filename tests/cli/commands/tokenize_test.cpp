// smelt tokenize as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <cstdlib>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/stderr_terminal.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Tokenize : public testing::Test {
 protected:
  Tokenize() {
    io::write_file(
        dir_.file("vocab.txt"),
        "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nfête\nfete\n!\nм\n##м\n");
  }
  CommandOutput run(const std::string& arguments) {
    return run_smelt(str("tokenize --vocab ", dir_.file("vocab.txt"), " ", arguments));
  }
  // Returns the standard output without the log, which has, for example, the share of unknown
  // tokens.
  std::string output(const std::string& arguments) {
    const CommandOutput result =
        run_command(str("(", smelt_program(), " tokenize --vocab ", dir_.file("vocab.txt"), " ",
                        arguments, " 2>/dev/null)"));
    EXPECT_EQ(result.status, 0) << result.text;
    return result.text;
  }
  void expect_refusal(const std::string& arguments, const testing::Matcher<std::string>& message) {
    const CommandOutput result = run(arguments);
    EXPECT_EQ(result.status, 2) << result.text;
    EXPECT_THAT(result.text, message) << arguments;
  }
  TempDir dir_;
};

TEST_F(Tokenize, PrintsPiecesIdsAndOffsetsInCharacters) {
  EXPECT_EQ(output("--lower-case true --text 'Unaffable FÊTE!' --text xyz"),
            "un ##aff ##able fete !\n[UNK]\n");
  EXPECT_EQ(output("--lower-case true --ids --text 'Unaffable FÊTE!'"), "5 6 7 9 10\n");
  EXPECT_EQ(output("--lower-case true --offsets --text 'fêtE un' --text '' --text '!'"),
            "0\t4\t9\tfete\n5\t7\t5\tun\n\n\n0\t1\t10\t!\n\n");
  EXPECT_EQ(
      Json::parse(output("--lower-case true --json --text 'é fête!'")),
      Json::parse(
          R"({"ids": [1, 9, 10], "pieces": ["[UNK]", "fete", "!"], "offsets": [[0, 1], [2, 6], [6, 7]]})"));
}

TEST_F(Tokenize, ReadsFilesAndStandardInputLineByLine) {
  io::write_file(dir_.file("a.txt"), "un\n\nfete\xff!");
  io::write_file(dir_.file("b.txt"), "мм\n");
  EXPECT_THAT(run(str("--input '", dir_.file("?.txt"), "'")).text,
              AllOf(HasSubstr("un\n\nfete !\nм ##м\n"), HasSubstr("a.txt:3")));
  EXPECT_EQ(output(str("--ids < ", dir_.file("b.txt"))), "11 12\n");
}

TEST_F(Tokenize, ShowsProgressIfOutputGoesToAFile) {
  io::write_file(dir_.file("a.txt"), std::string(1500, '!'));
  const StderrTerminal terminal;
  const std::string command = str(smelt_program(), " tokenize --vocab ", dir_.file("vocab.txt"),
                                  " --input ", dir_.file("a.txt"), " > ", dir_.file("out"));
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(terminal.text(), HasSubstr("tokenize [==========] 1.5 kB/1.5 kB"));
}

TEST_F(Tokenize, DecodesIds) {
  EXPECT_EQ(output("--decode --text '2 5 6 7 9 10 3'"), "[CLS] unaffable fete ! [SEP]\n");
  EXPECT_EQ(output("--decode --json --text '11 12'"), "{\"text\":\"мм\"}\n");
  EXPECT_EQ(output("--decode --text ''"), "\n");
  expect_refusal("--decode --text '5 x7'", AllOf(HasSubstr("--text: 'x7' is not an id"),
                                                 HasSubstr("separate ids by spaces")));
  expect_refusal("--decode --text 13", HasSubstr("vocab.txt: has 13 pieces, but no id 13"));
}

TEST_F(Tokenize, CountsUnknownPiecesByScript) {
  const std::string flags = "--stats --text 'un мм xyz 東京!' --text 'жж'";
  const Json statistics = Json::parse(output(flags + " --json"));
  EXPECT_EQ(statistics["texts"], 2);
  EXPECT_EQ(statistics["pieces"], 8);
  EXPECT_EQ(statistics["unknown"], 4);
  EXPECT_EQ(statistics["scripts"],
            Json::parse(R"([{"script": "Latin", "characters": 5, "pieces": 2, "unknown": 1},
                            {"script": "Cyrillic", "characters": 4, "pieces": 3, "unknown": 1},
                            {"script": "Han", "characters": 2, "pieces": 2, "unknown": 2},
                            {"script": "Common", "characters": 1, "pieces": 1, "unknown": 0}])"));
  EXPECT_THAT(output(flags),
              AllOf(HasSubstr("pieces:   8, 4 unknown (50.000 %)"), HasSubstr("Cyrillic")));
}

TEST_F(Tokenize, UsesTheCaseOfTheFlagsOrOfTheStoredConfig) {
  EXPECT_EQ(output("--lower-case false --text 'fête Un'"), "fête [UNK]\n");
  EXPECT_EQ(output("--strip-accents false --text 'FÊTE'"), "fête\n");
  EXPECT_EQ(output("--text 'un\xee\x80\x80'"), "[UNK]\n");
  EXPECT_EQ(output("--control-characters electra --text 'un\xee\x80\x80'"), "un\n");
  io::write_file(dir_.file("tokenizer_config.json"), R"({"do_lower_case": false})");
  EXPECT_EQ(output("--text 'fête Un'"), "fête [UNK]\n");
  expect_refusal("--lower-case true --text x", AllOf(HasSubstr("--lower-case: true, but "),
                                                     HasSubstr("tokenizer_config.json has false")));
  expect_refusal("--control-characters greek --text x",
                 HasSubstr("--control-characters: greek not in {bert,electra}"));
}

TEST_F(Tokenize, SavesTheFormatOfTheFileName) {
  const std::string saved = dir_.file("tokenizer.json"), text = dir_.file("x.txt");
  output("--lower-case false --save " + saved);
  EXPECT_THAT(run_smelt(str("tokenize --vocab ", saved, " --text 'fête Un Un'")).text,
              AllOf(HasSubstr("fête [UNK] [UNK]\n"),
                    HasSubstr("warning: --text: 66.7 % of the tokens are unknown ([UNK])")));
  expect_refusal("--save " + saved,
                 AllOf(HasSubstr("--save: " + saved + " exists"), HasSubstr("--overwrite")));
  output("--overwrite --save " + saved);
  EXPECT_EQ(run_smelt(str("tokenize --vocab ", saved, " --save ", text)).text, "");
  EXPECT_EQ(io::read_file(text), io::read_file(dir_.file("vocab.txt")));
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("x.tokenizer_config.json")))["control_characters"],
            "electra");
}

TEST_F(Tokenize, UsesSentencePieceModels) {
  io::write_file(dir_.file("text"), "der Hund und die Katze und der Vogel\nein Hund\neine Katze\n");
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"input", dir_.file("text")},
                                                                  {"model_prefix", dir_.file("m")},
                                                                  {"vocab_size", "20"},
                                                                  {"minloglevel", "2"}});
  ASSERT_TRUE(status.ok()) << status.message();
  const std::string program = str(smelt_program(), " tokenize --model ", dir_.file("m.model"));
  const std::string ids = run_command(program + " --ids --text 'der Hund'").text;
  EXPECT_EQ(run_command(str("printf '", ids, "' | ", program, " --decode")).text, "der Hund\n");
  EXPECT_THAT(run_command(program + " --stats --text 'der Ž'").text, HasSubstr(" 1 unknown"));
  EXPECT_THAT(run_command(str(program, " --save ", dir_.file("y.txt"))).text,
              HasSubstr("is a SentencePiece model"));
}

TEST_F(Tokenize, RejectsInvalidFlags) {
  expect_refusal("--model x.model --text a",
                 AllOf(HasSubstr("--vocab and --model"), HasSubstr("hint: use one")));
  EXPECT_THAT(run_smelt(str("tokenize --text a")).text, HasSubstr("neither --vocab nor --model"));
  expect_refusal("--ids --offsets --text a", HasSubstr("--ids excludes --offsets"));
  expect_refusal("--ofsets --text a", HasSubstr("did you mean '--offsets'?"));
  expect_refusal(str("--input ", dir_.file("none")), HasSubstr("none"));
  EXPECT_THAT(output("--help"), HasSubstr("split text into tokens, or join tokens to text"));
  const CommandOutput full = run_command(str("(", smelt_program(), " tokenize --vocab ",
                                             dir_.file("vocab.txt"), " --text un > /dev/full)"));
  EXPECT_EQ(full.status, 1);
  EXPECT_THAT(full.text, HasSubstr("standard output: cannot be written to"));
}

}  // namespace
}  // namespace smelt::cli
