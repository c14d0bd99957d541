#include "cloud/fleet.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>

#include "base/error.h"
#include "base/stop_signal.h"
#include "cloud/ssh.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cloud {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

class FleetTest : public testing::Test {
 protected:
  static FleetProgram shell(int worker, const std::string& command) {
    return {worker, {"sh", "-c", command}};
  }
  std::vector<FleetEnd> run(const std::vector<FleetProgram>& programs) {
    return run_fleet(programs, rules_);
  }
  std::string dir_file(const std::string& name) const { return dir_.file(name); }

  TempDir dir_;
  std::string out_, err_;
  FleetRules rules_ = [this] {
    FleetRules rules;
    rules.grace = rules.between = milliseconds(20);
    rules.out = [this](const std::string& text) { out_ += text; };
    rules.err = [this](const std::string& text) { err_ += text; };
    return rules;
  }();
};

TEST_F(FleetTest, RunsSixtyFourProgramsInParallel) {
  // Every program waits until all have started. Program 0 detects that and creates the file `all`.
  const std::string all = dir_file("all");
  std::vector<FleetProgram> programs{
      shell(0, str("while [ $(ls ", dir_.path(), " | wc -l) -lt 63 ]; do sleep 0.1; done; touch ",
                   all, "; echo 0"))};
  for (int i = 1; i < 64; ++i)
    programs.push_back(shell(i, str("touch ", dir_file(std::to_string(i)), "; while [ ! -e ", all,
                                    " ]; do sleep 0.1; done; echo ", i, "; exit ", i % 7)));
  rules_.timeout = std::chrono::minutes(2);
  const auto ends = run(programs);
  ASSERT_EQ(ends.size(), 64u);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(ends[static_cast<std::size_t>(i)].status, i % 7);
    EXPECT_THAT(out_, HasSubstr(str("[worker ", i, "] ", i, "\n")));
  }
  EXPECT_EQ(worst_status(ends), 6);
}

TEST_F(FleetTest, KeepsLinesWholeAndBytesUnchanged) {
  run({shell(0, "printf 'a\\nb'; printf 'c' >&2"), shell(1, "printf 'd'")});
  EXPECT_THAT(out_, AllOf(HasSubstr("[worker 0] a\n"), HasSubstr("[worker 0] b\n"),
                          HasSubstr("[worker 1] d\n")));
  EXPECT_EQ(err_, "[worker 0] c\n");
  rules_.prefixed = false;
  out_.clear();
  run({shell(0, "printf 'a\\nb'")});
  EXPECT_EQ(out_, "a\nb");
}

TEST_F(FleetTest, RetriesUnreachableWorkers) {
  const std::string count = dir_file("count");
  const std::string refused =
      str("echo x >> ", count, "; [ $(wc -l < ", count,
          ") -gt 2 ] && exit 3; echo 'ssh: connect to host h port 22: Connection refused' >&2; "
          "exit 255");
  EXPECT_EQ(run({shell(0, refused)})[0].status, 3);
  EXPECT_EQ(err_, "");  // the third attempt reached the worker
  io::write_file(count, "");
  rules_.tries = 2;
  const FleetEnd end = run({shell(0, refused)})[0];
  EXPECT_EQ(end.status, 255);
  EXPECT_THAT(end.why_not, HasSubstr("Connection refused"));
  // If the command itself exits with 255, that is not an ssh error.
  io::write_file(count, "");
  EXPECT_EQ(run({shell(0, str("echo x >> ", count, "; exit 255"))})[0].why_not, "");
  EXPECT_EQ(io::read_file(count), "x\n");
  // An ssh message that the command itself prints, about another host, is not one either.
  io::write_file(count, "");
  const std::string nested = "echo 'ssh: connect to host other port 22' >&2; exit 255";
  const FleetEnd own = run({shell(0, guarded_command(str("echo x >> ", count, "; ", nested)))})[0];
  EXPECT_EQ(own.status, 254);
  EXPECT_EQ(own.why_not, "");
  EXPECT_EQ(io::read_file(count), "x\n");
}

TEST_F(FleetTest, EndsAProgramWithEndlessOutputAfterTheTimeout) {
  rules_.timeout = milliseconds(200);
  rules_.grace = milliseconds(100);
  EXPECT_EQ(run({shell(0, "exec yes")})[0].status, 124);
}

TEST_F(FleetTest, ClosesStandardInputThenKillsAfterTheTimeout) {
  rules_.timeout = milliseconds(200);
  rules_.grace = std::chrono::minutes(1);
  EXPECT_EQ(run({shell(0, "cat >/dev/null; echo told")})[0].status, 124);
  EXPECT_EQ(out_, "[worker 0] told\n");
  rules_.grace = milliseconds(100);
  EXPECT_EQ(run({shell(1, "exec sleep 600")})[0].status, 124);
}

TEST_F(FleetTest, SignalEndsAllPrograms) {
  const StopSignal signal("");
  std::vector<FleetProgram> programs;
  for (int i = 0; i < 3; ++i)
    programs.push_back(
        shell(i, guarded_command("trap 'echo caught; exit 5' TERM; echo begun; sleep 600 & wait")));
  const auto count = [&] { return std::ranges::count(out_, '\n'); };
  rules_.grace = std::chrono::minutes(1);
  const auto out = rules_.out;
  rules_.out = [&](const std::string& text) {
    out(text);
    if (count() == 3) ::raise(SIGINT);
  };
  EXPECT_EQ(error_of<Stopped>([&] { run(programs); }),
            "cloud: stopped by a signal; all workers were asked to end");
  for (int i = 0; i < 3; ++i) EXPECT_THAT(out_, HasSubstr(str("[worker ", i, "] caught\n")));
}

TEST_F(FleetTest, ReportsAProgramThatCannotBeStarted) {
  EXPECT_THAT(error_of<SystemError>([&] { run({shell(0, "exec sleep 600"), {1, {"no-such"}}}); }),
              HasSubstr("start no-such: No such file or directory"));
}

TEST_F(FleetTest, GuardedCommandKeepsStatusAndQuotes) {
  rules_.prefixed = false;
  EXPECT_EQ(run({shell(0, guarded_command("echo \"it's $((1 + 1))\" 'a  b'; exit 7"))})[0].status,
            7);
  EXPECT_EQ(out_, "it's 2 a  b\n");
}

}  // namespace
}  // namespace smelt::cloud
