// How the program parses its arguments before it runs a command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>

#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(CommandLine, PassesTextInBracketsUnchanged) {
  const TempDir dir;
  io::write_file(dir.file("vocab.txt"), "[UNK]\n[\n]\n,\none\ntwo\n");
  const std::string tokenize =
      str(smelt_program(), " tokenize --json --vocab ", dir.file("vocab.txt"));
  std::string all;
  for (const char* text : {"[one]", "[one, two]", "[one] two [one]", "[]"}) {
    const std::string typed = run_command(str(tokenize, " --text '", text, "'")).text;
    EXPECT_EQ(typed, run_command(str("echo '", text, "' | ", tokenize)).text);
    EXPECT_EQ(typed, run_command(str(tokenize, " --text='", text, "'")).text);
    all += str(" --text '", text, "'");
  }
  EXPECT_EQ(std::ranges::count(run_command(tokenize + all).text, '\n'), 4);
  EXPECT_THAT(run_command(tokenize + " --text one two").text, HasSubstr("unknown argument two"));
  const CommandOutput pattern =
      run_command(str("cd ", dir.path(), " && touch a.txt b.txt && ", smelt_program(),
                      " tokenize --vocab vocab.txt --input ?.txt"));
  EXPECT_THAT(pattern.text, HasSubstr("unknown argument b.txt\n  hint: the shell has replaced a "
                                      "pattern by several files; put the pattern in quotes"));
}

TEST(CommandLine, SuggestsARecipeForOriginalProgramsThatItReplaces) {
  expect_refusal("run_squad", AllOf(HasSubstr("no command 'run_squad'"),
                                    HasSubstr("hint: `smelt run recipes/squad.yaml`")));
  expect_refusal("run_classifier.py", HasSubstr("hint: `smelt run recipes/classify-glue.yaml`"));
  expect_refusal("electra run_finetuning", HasSubstr("hint: `smelt run recipes/classify-glue"));
}

TEST(CommandLine, RejectsNormalizationWithTheOriginalOrder) {
  for (const char* kind : {"bert", "electra"})
    expect_refusal(
        str("data ", kind, " --input a --vocab v --out o --order original --normalize nfc"),
        AllOf(HasSubstr("--normalize nfc: must be none with --order original"),
              HasSubstr("hint: remove --normalize, or use --order shuffled")));
}

TEST(CommandLine, SetFlagDoesNotConsumeTheRecipeArgument) {
  expect_refusal("eval --set out=x none.yaml", HasSubstr("none.yaml: no such recipe"));
}

TEST(CommandLine, SuggestsSetForMistypedSettings) {
  for (const auto& [typed, hint] :
       {std::pair{"--set train.steps = 10", "write --set name=value without a space"},
        {"--train.steps=10", "write --set train.steps=10"},
        {"--train.steps 10", "write --set train.steps=10"},
        {"train.steps=10", "write --set train.steps=10"},
        {"--out mine", "write --set out=mine"},
        {"--out", "write --set out=…"},
        {"--set out=~/mine", "write out=$HOME/mine"},
        {"--steps 10", "recipe fields are set with --set: --set train.steps=10"}})
    expect_refusal(str("run r.yaml ", typed), testing::HasSubstr(str("hint: ", hint)));
  expect_refusal("rm mine",
                 testing::HasSubstr("hint: `smelt --help` lists the flags and subcommands"));
  expect_refusal(
      "bench recipes/demo.yaml",
      testing::HasSubstr("smelt bench does not accept a recipe; `smelt run recipes/demo.yaml"));
}

TEST(CommandLine, SuggestsSetForFlagsNamedLikeARecipeField) {
  for (const auto& [typed, hint] :
       {std::pair{"--steps 10", "recipe fields are set with --set: --set train.steps=10\n"},
        {"--learning-rate=1e-4", "--set train.optimizer.learning_rate=1e-4\n"},
        {"--hidden_size", "--set model.hidden_size=VALUE\n"}})
    expect_refusal(str("run r.yaml ", typed), HasSubstr(hint));
  expect_refusal("bench --hidden_size 10", testing::Not(HasSubstr("--set")));
}

TEST(CommandLine, HelpHidesTheBooleanValuesOfFlags) {
  const CommandOutput help = run_smelt("run --help");
  EXPECT_THAT(help.text, testing::HasSubstr("--dry-run"));
  EXPECT_THAT(help.text, testing::Not(testing::HasSubstr("{true")));
}

TEST(CommandLine, ReportsNumbersOutOfRange) {
  expect_refusal("bench --devices 0",
                 HasSubstr("error: smelt bench: --devices: 0 is less than 1\n"));
  expect_refusal("bench --devices nan", HasSubstr("--devices: 'nan' is not a number\n"));
  expect_refusal("bench --depth 2000", HasSubstr("--depth: 2000 is more than 1000\n"));
  expect_refusal("data bench x --batch -1", HasSubstr("--batch: -1 is less than 1\n"));
  const std::string detect = "detect r.yaml --text a --threshold ";
  expect_refusal(detect + "nan", HasSubstr("--threshold: 'nan' is not a number\n"));
  expect_refusal(detect + "abc", HasSubstr("--threshold: 'abc' is not a number\n"));
  expect_refusal(detect + "1.5", HasSubstr("--threshold: 1.5 is more than 1\n"));
  EXPECT_THAT(run_smelt("bench --help").text,
              AllOf(HasSubstr("--depth INT:from 1 to 1000"),
                    HasSubstr("maximum number of queries that attention")));
}

TEST(CommandLine, RejectsRepeatedFlagsAndEmptyValues) {
  expect_refusal(
      "export r.yaml --out a --out b",
      AllOf(HasSubstr("export: --out is given 2 times\n"), HasSubstr("hint: give it once")));
  expect_refusal("eval r.yaml --set=",
                 AllOf(HasSubstr("error: --set= has no value\n"),
                       HasSubstr("hint: remove it, or write a value after the =")));
  expect_refusal("electra build_pretraining_dataset --corpus-dir= --output-dir=",
                 HasSubstr("--corpus-dir: is empty\n"));
  expect_refusal("export r.yaml --out ''", HasSubstr("smelt export: --out: is empty\n"));
  expect_refusal("electra run_pretraining --data-dir d --model-name ''",
                 HasSubstr("--model-name: is empty\n"));
}

// The commands without subcommands and their flags, as `smelt completion bash` lists them.
std::map<std::string, std::string> commands_and_flags() {
  std::map<std::string, std::string> out;
  static const std::regex kCase(
      R"re(^    "smelt ([^"]+)"\) flags="([^"]*)"; commands="([^"]*)" ;;$)re");
  for (const std::string_view view : split(run_smelt("completion bash").text, '\n')) {
    const std::string line(view);
    std::smatch found;
    if (std::regex_match(line, found, kCase) && found[3].str().empty()) out[found[1]] = found[2];
  }
  return out;
}

TEST(CommandLine, CommandsWithResultsHaveDocumentedJson) {
  // Commands with the interface of other programs, commands that print a script, a file or a
  // remote command's output, and serve, whose protocol is JSON (docs/reference/serve.md).
  const std::regex without(
      "(create_pretraining_data|run_pretraining|electra|jestimator|ttt|ctpu|tpu-vm|storage|help|"
      "completion|new|serve|pod manifest|cloud (ssh|logs|cp)|bench|data bench)\\b.*");
  const std::string page = io::read_file(source_path("docs/reference/json.md"));
  const auto all = commands_and_flags();
  EXPECT_GT(all.size(), 60U);
  for (const auto& [command, flags] : all) {
    const bool has_json = flags.find("--json") != flags.npos;
    EXPECT_TRUE(has_json || std::regex_match(command, without)) << command;
    const bool is_listed =
        page.find(str("`smelt ", command, "`")) != page.npos || command.starts_with("electra");
    EXPECT_TRUE(!has_json || is_listed) << command;
  }
}

TEST(CommandLine, OnlySmeltsOwnCommandsHaveTheLogFlags) {
  const auto all = commands_and_flags();
  for (const char* command : {"run", "data bert", "cloud up"})
    EXPECT_THAT(all.at(command),
                AllOf(HasSubstr("--quiet"), HasSubstr("--log-file"), HasSubstr("--log-level")))
        << command;
  EXPECT_THAT(all.at("run_pretraining"), testing::Not(HasSubstr("--log-file")));
}

TEST(CommandLine, LogFileContainsTheError) {
  const TempDir dir;
  const std::string log = dir.file("a.log");
  EXPECT_EQ(run_smelt(str("run none.yaml --quiet --log-file ", log)).status, 2);
  EXPECT_THAT(io::read_file(log), testing::ContainsRegex("^....-..-..T..:..:..[+-]..:?.. error: "
                                                         "none.yaml"));
}

TEST(CommandLine, PrintsShortHelpWithoutACommand) {
  const CommandOutput none = run_smelt("");
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.text, AllOf(HasSubstr("Usage: smelt COMMAND"), HasSubstr("smelt help recipe")));
  EXPECT_LE(std::ranges::count(none.text, '\n'), 24);
}

}  // namespace
}  // namespace smelt::cli
