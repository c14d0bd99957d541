// Runs the dead man's switch as a machine's startup script, with scripts in place of its commands:
// `sleep` advances the clock that `date` prints, and `curl` stands in for Google.
#include "cloud/job_guard.h"

#include <gmock/gmock.h>

#include "base/run_program.h"
#include "base/str.h"
#include "cloud/remote_job.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/paths.h"

namespace smelt::cloud {
namespace {

using testing::HasSubstr;

class JobGuardTest : public testing::Test {
 protected:
  JobGuardTest() {
    io::make_folders(at("bin"));
    io::make_folders(at("home/.smelt-job"));
    io::make_folders(at("home/.smelt-guard"));
    io::write_file(at("clock"), "1000\n");
    io::write_file(at("calls"), "");
    stand_in("date", str("case \"$1\" in +%s) cat ", at("clock"), ";; *) echo START;; esac"));
    // Ends the switch once it has requested the deletion, because the machine is then gone.
    stand_in("sleep", str("if grep -q DELETE ", at("calls"), "; then kill $PPID; fi\n",
                          "echo $(( $(cat ", at("clock"), ") + 100 )) > ", at("clock")));
    stand_in(
        "curl",
        str("case \"$*\" in\n*attributes/agent-worker-number) echo ${WORKER:-0};;\n",
            "*token) echo '{\"access_token\": \"PLANTED\"}';;\n", "*) echo \"$(cat ", at("clock"),
            ") $(cat) $*\" >> ", at("calls"), "\n",
            "  case \"$*\" in *http_code*) echo '{\"state\": \"READY\"}200';; esac;;\n", "esac"));
    spec_.run = "abc";
    spec_.project = "p";
    spec_.folder = "gs://bucket/job";
  }
  std::string at(const std::string& name) const { return dir_.file(name); }
  void stand_in(const std::string& name, const std::string& text) const {
    const std::string file = at("bin/" + name);
    io::write_file(file, "#!/bin/sh\n" + text + "\n");
    run_command("chmod +x " + file);
  }
  // Runs the switch until it has deleted the machine. Returns its requests to Google, each after
  // the time at which it was sent.
  std::vector<std::string> calls(double seconds, const std::string& environment = "") const {
    const std::string script = startup_guard(spec_, "us-central1-a", seconds,
                                             {"http://tpu", at("home"), "http://storage"});
    io::write_file(at("startup"), script);
    const CommandOutput ran =
        run_command(str("cd ", dir_.path(), "; env PATH=", at("bin"), ":$PATH ", environment,
                        " sh -c '. ./startup; wait'"));
    EXPECT_EQ(ran.text, "");
    std::vector<std::string> out;
    const std::string all = io::read_file(at("calls"));
    for (const std::string_view line : split(trim(all), '\n')) out.emplace_back(line);
    return out;
  }

  TempDir dir_;
  JobSpec spec_;
  const std::string node_ = "http://tpu/v2/projects/p/locations/us-central1-a/nodes/smelt-abc";
};

TEST_F(JobGuardTest, MachineWithoutSupervisorDeletesItself) {
  const auto asked = calls(600);
  ASSERT_EQ(asked.size(), 2u) << join(asked, "\n");
  EXPECT_THAT(asked[0], testing::AllOf(testing::StartsWith("1600 Authorization: Bearer PLANTED "),
                                       testing::EndsWith(node_)));
  EXPECT_THAT(asked[1], testing::EndsWith("-o /dev/null -X DELETE " + node_));
}

TEST_F(JobGuardTest, MovedDeadlineKeepsTheMachineAndItsLog) {
  io::write_file(at("home/.smelt-guard/deadline"), "3000\n");
  io::write_file(at("home/.smelt-job/log"), "the end\n");
  const auto asked = calls(600);
  ASSERT_EQ(asked.size(), 3u) << join(asked, "\n");
  EXPECT_THAT(asked[0],
              testing::AllOf(testing::StartsWith("3000 "),
                             HasSubstr("-T " + at("home/.smelt-job/log") +
                                       " http://storage/upload/"
                                       "storage/v1/b/bucket/o?uploadType=media&name=job%2Flog%2F"
                                       "START-worker-0.txt")));
  EXPECT_THAT(asked[2], HasSubstr("-X DELETE " + node_));
}

// The fourth worker first gives the workers before it 45 seconds, which are nine calls of sleep.
TEST_F(JobGuardTest, WorkersWaitForEarlierWorkersToDeleteTheMachine) {
  spec_.queued = true;
  const auto asked = calls(600, "WORKER=3");
  ASSERT_EQ(asked.size(), 2u) << join(asked, "\n");
  EXPECT_THAT(asked[1], testing::AllOf(testing::StartsWith("2500 "),
                                       HasSubstr("/queuedResources/smelt-abc?force=true")));
}

// The workers of a large pod must not use up the project's request quota.
TEST_F(JobGuardTest, LimitsRequestsIfDeletionIsNotPermitted) {
  stand_in("sleep", str("[ $(grep -c DELETE ", at("calls"), ") -lt 2 ] || kill $PPID\n",
                        "echo $(( $(cat ", at("clock"), ") + 5 )) > ", at("clock")));
  const auto asked = calls(20);
  ASSERT_EQ(asked.size(), 4u) << join(asked, "\n");
  EXPECT_GE(std::stoi(asked[3]) - std::stoi(asked[1]), 60);
}

// The stand-in for sleep shortens the waits. The command ends only after the second stop has
// printed that it waits.
TEST_F(JobGuardTest, SendsTermOnlyOnce) {
  stand_in("sleep", "exec /bin/sleep 0.002");
  const std::string home = str("export HOME=", at("home"), " PATH=", at("bin"), ":$PATH\n"),
                    go = at("go"), log = at("home/.smelt-job/log");
  const std::string saves =
      str("trap 'trap \"echo again; exit 1\" TERM; echo saving; until [ -e ", go,
          " ]; do sleep 1; done; echo saved; exit 75' TERM; echo begun; while :; do sleep 1; done");
  io::write_file(at("start"), home + start_job(saves));
  io::write_file(at("stop"), home + stop_job());
  const auto until = [](const std::string& words, const std::string& file) {
    return str("until grep -qs '", words, "' ", file, "; do /bin/sleep 0.01; done\n");
  };
  const CommandOutput ran = run_command(str(
      "cd ", dir_.path(), "; sh start; ", until("begun", log), "sh stop >first & ",
      until("saving", log), "sh stop >second & ", until("waiting", "second"), "touch go; wait"));
  EXPECT_EQ(ran.text, "started\n");
  EXPECT_THAT(io::read_file(log), testing::EndsWith("saving\nsaved\n"));  // and never "again"
  for (const char* name : {"first", "second"})
    EXPECT_THAT(io::read_file(at(name)), testing::EndsWith("stopped\n"));
}

}  // namespace
}  // namespace smelt::cloud
