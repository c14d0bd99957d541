// Help that is wrapped to the terminal's width.
#include "cli/commands/help_text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/environment.h"

namespace smelt {
namespace {

TEST(HelpText, IsWrappedBelowItsSecondColumn) {
  EXPECT_EQ(wrapped("  --steps INT     training steps in all of the run\n  --json\n", 40),
            "  --steps INT     training steps in all\n"
            "                  of the run\n"
            "  --json\n");
}

TEST(HelpText, IsWrappedBelowItsFirstWordWithoutASecondColumn) {
  EXPECT_EQ(wrapped("usage: smelt COMMAND and its flags\n  one two three four five six seven", 20),
            "usage: smelt COMMAND\nand its flags\n  one two three four\n      five six seven");
}

TEST(HelpText, BreaksNoWordAndCountsCharacters) {
  EXPECT_EQ(wrapped("ääää ööö averyveryverylongword b", 10), "ääää ööö\naveryveryverylongword\nb");
}

TEST(HelpText, IsLeftAloneIfTheWidthIsNotKnown) {
  const std::string line(300, 'a');
  EXPECT_EQ(wrapped(line + " b\n", std::string::npos), line + " b\n");
}

TEST(HelpText, TakesTheWidthFromTheEnvironmentInAPipe) {
  if (::isatty(STDOUT_FILENO) == 1) GTEST_SKIP() << "standard output is a terminal";
  const ScopedVariable columns("COLUMNS", "60");
  EXPECT_EQ(help_columns(), 60U);
  const ScopedVariable none("COLUMNS", "wide");
  EXPECT_EQ(help_columns(), std::string::npos);
}

}  // namespace
}  // namespace smelt
