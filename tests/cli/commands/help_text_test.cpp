// Help that is wrapped to the terminal's width.
#include "cli/commands/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/commands/command_guide.h"
#include "io/filesystem/file.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

TEST(HelpText, WrapsUnderTheSecondColumn) {
  EXPECT_EQ(wrapped("  --steps INT     training steps in all of the run\n  --json\n", 40),
            "  --steps INT     training steps in all\n"
            "                  of the run\n"
            "  --json\n");
}

TEST(HelpText, WrapsUnderTheFirstWordIfThereIsNoSecondColumn) {
  EXPECT_EQ(wrapped("usage: smelt COMMAND and its flags\n  one two three four five six seven", 20),
            "usage: smelt COMMAND\nand its flags\n  one two three four\n      five six seven");
}

TEST(HelpText, BreaksNoWordAndCountsUtf8Characters) {
  EXPECT_EQ(wrapped("ääää ööö averyveryverylongword b", 10), "ääää ööö\naveryveryverylongword\nb");
}

TEST(HelpText, DoesNotWrapIfTheWidthIsUnknown) {
  const std::string line(300, 'a');
  EXPECT_EQ(wrapped(line + " b\n", std::string::npos), line + " b\n");
}

TEST(HelpText, UsesTheColumnsVariableIfOutputIsAPipe) {
  if (::isatty(STDOUT_FILENO) == 1) GTEST_SKIP() << "standard output is a terminal";
  const ScopedVariable columns("COLUMNS", "60");
  EXPECT_EQ(help_columns(), 60U);
  const ScopedVariable none("COLUMNS", "wide");
  EXPECT_EQ(help_columns(), std::string::npos);
}

TEST(HelpText, CommandHelpHasExamplesAndADocumentationPage) {
  const std::string help = run_command(smelt_program() + " help compress quantize").text;
  EXPECT_THAT(help, testing::StartsWith("quantize weights to int8 or int4"));
  EXPECT_THAT(
      help, testing::HasSubstr("\nExamples:\n  smelt compress quantize my-classifier --out small"));
  EXPECT_THAT(help, testing::HasSubstr("\nRead more: docs/guides/compress.md\n"));
}

TEST(HelpText, FindsCommandsByASearchWord) {
  const std::string help = run_command(smelt_program() + " help inference").text;
  EXPECT_THAT(help, testing::StartsWith("Commands for 'inference':\n  smelt predict"));
  EXPECT_THAT(help, testing::HasSubstr("\n  smelt generate"));
}

TEST(CommandGuide, NamesPagesThatExist) {
  for (const CommandGuide& guide : command_guides()) {
    EXPECT_TRUE(io::exists(source_path(str("docs/", guide.page, ".md")))) << guide.command;
    for (const std::string_view example : guide.examples)
      EXPECT_TRUE(example.starts_with(guide.command)) << example;
  }
  EXPECT_EQ(guide_text("no such command"), "");
}

}  // namespace
}  // namespace smelt::cli
