#include "base/line_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "support/error_of.h"

namespace smelt {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Lines = std::vector<std::string>;

constexpr const char* kNumbered =
    "while IFS= read -r line; do n=$((n + 1)); echo \"$n $line\"; done";

template <class E = UsageError>
std::string error_with(const std::string& command, const Lines& lines,
                       LineFilter::Seconds silence = LineFilter::Seconds(30)) {
  LineFilter filter(command, silence);
  return error_of<E>([&] { filter.filter(lines); });
}

constexpr LineFilter::Seconds kShort{0.2};

// Returns whether the process runs. A zombie, which has ended, does not count.
bool is_running(const std::string& process) {
  std::ifstream in("/proc/" + process + "/stat");
  std::string number, name, state;
  return in >> number >> name >> state && state != "Z";
}

TEST(LineFilter, UsesOneProcessForAllLines) {
  LineFilter filter(kNumbered);
  EXPECT_THAT(filter.filter(Lines{"a", "", " b "}), ElementsAre("1 a", "2 ", "3  b "));
  EXPECT_THAT(filter.filter(Lines{"c"}), ElementsAre("4 c"));
}

TEST(LineFilter, DoesNotDeadlockOnFullPipes) {
  LineFilter filter("cat");
  const Lines lines(64, std::string(1 << 15, 'x'));
  EXPECT_EQ(filter.filter(lines), lines);
}

TEST(LineFilter, DoesNotDeadlockOnFullStandardError) {
  LineFilter filter("head -c 200000 /dev/zero >&2; cat");
  EXPECT_THAT(filter.filter(Lines{"a"}), ElementsAre("a"));
}

TEST(LineFilter, ReportsExitStatusAndStandardErrorOfACommandThatEndsEarly) {
  EXPECT_THAT(error_with("read -r a; echo $a; echo 'no more' >&2; exit 3", {"a", "b"}),
              HasSubstr("ended (exit status 3) after 1 line: no more"));
  EXPECT_THAT(error_with("kill -SEGV $$", {"a"}), HasSubstr("ended (signal 11) after 0 lines"));
  EXPECT_THAT(error_with("no-such-program -x", {"a"}),
              AllOf(HasSubstr("'no-such-program -x' ended (exit status 127)"),
                    HasSubstr("hint: install the program, or correct the command; relative paths "
                              "are relative to the folder in which smelt is started")));
}

TEST(LineFilter, AKilledCommandIsASystemError) {
  EXPECT_THAT(
      error_with<SystemError>("kill -KILL $$", {"a"}),
      AllOf(HasSubstr("ended (signal 9) after 0 lines"),
            HasSubstr("hint: another process killed it, perhaps because memory was short")));
  EXPECT_THAT(error_with<SystemError>("sh -c 'kill -KILL $$'; exit $?", {"a"}),
              HasSubstr("ended (exit status 137) after 0 lines"));
}

TEST(LineFilter, EndsACommandThatClosesItsOutputAndIgnoresSIGTERM) {
  EXPECT_THAT(error_with("trap '' TERM; exec >&-; sleep 100", {"a"}),
              HasSubstr("closed its output after 0 lines"));
}

TEST(LineFilter, RejectsFewerOutputLinesThanInputLinesAtTheEnd) {
  LineFilter all("sort"), some("sed -u 2d");  // sort writes when its input has ended
  EXPECT_THAT(all.filter_last(Lines{"b", "a"}), ElementsAre("a", "b"));
  EXPECT_THAT(error_of<UsageError>([&] { some.filter_last(Lines{"a", "b", "c"}); }),
              AllOf(HasSubstr("'sed -u 2d' ended (exit status 0) after 2 lines"),
                    HasSubstr("hint: it must write one line for each line")));
}

TEST(LineFilter, ReportsACommandThatWritesNothingBeforeTheTimeout) {
  EXPECT_THAT(error_with("sleep 100", {"a", "b"}, kShort),
              AllOf(HasSubstr("'sleep 100' wrote nothing for 0.2 s while 2 lines of 2 were due"),
                    HasSubstr("it must write one line for each line that it reads, as soon as it "
                              "has read it: python3 -u, sed -u")));
  EXPECT_THAT(error_with("while :; do echo working >&2; sleep 0.05; done", {"a"}, kShort),
              HasSubstr("wrote nothing for 0.2 s while 1 line of 1 were due: "))
      << "its standard error does not count";
}

TEST(LineFilter, ATimeoutAfterTheFirstLineIsASystemError) {
  LineFilter filter("read -r a; echo $a; sleep 100", LineFilter::Seconds(0.5));
  EXPECT_THAT(filter.filter(Lines{"a"}), ElementsAre("a"));
  EXPECT_THAT(error_of<SystemError>([&] { filter.filter(Lines{"b"}); }),
              HasSubstr("wrote nothing for 0.5 s while 1 line of 1 were due"));
}

TEST(LineFilter, RejectsMoreOutputLinesThanInputLines) {
  EXPECT_THAT(error_with("while read -r a; do echo why >&2; printf '%s\\nmore\\n' $a; done", {"a"}),
              AllOf(HasSubstr("wrote more lines than it was given: 'more"), HasSubstr("': why")));
  EXPECT_THAT(error_with("cat /dev/zero", {"a"}), HasSubstr("wrote more lines"));
}

TEST(LineFilter, RunsPythonUnbufferedAndInUtf8) {
  LineFilter filter("read -r a; echo $PYTHONUNBUFFERED $PYTHONUTF8");
  EXPECT_THAT(filter.filter(Lines{"a"}), ElementsAre("1 1"));
}

TEST(LineFilter, EndsChildProcessesOfTheCommand) {
  for (const bool by_signal : {false, true}) {
    auto filter = std::make_unique<LineFilter>("read -r a; sleep 100 & echo $!; cat");
    const std::string sleep = filter->filter(Lines{"a"})[0];
    EXPECT_TRUE(is_running(sleep));
    if (by_signal)
      end_child_groups();  // as signal handlers do
    else
      filter.reset();
    for (int i = 0; i < 100 && is_running(sleep); ++i) ::usleep(10'000);
    EXPECT_FALSE(is_running(sleep)) << by_signal;
  }
}

}  // namespace
}  // namespace smelt
