#include "cloud/ssh.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/run_program.h"
#include "base/stop_signal.h"
#include "cloud/machines.h"
#include "cloud/remote_job.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_fault.h"
#include "cloud/tpu_test.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/missing.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Creates a shell script and returns a PATH on which it comes first.
std::string make_program(const TempDir& dir, const std::string& name, const std::string& script) {
  io::make_folders(dir.file("bin"));
  io::write_file(dir.file("bin/" + name), "#!/bin/sh\n" + script);
  ::chmod(dir.file("bin/" + name).c_str(), 0700);
  return str(dir.file("bin"), ":", std::getenv("PATH"));
}

class SshTest : public TpuTest {
 protected:
  void SetUp() override {
    if (ssh_server_program().empty())
      SKIP_OR_FAIL_WITHOUT("sshd", "apt-get install openssh-server");
    servers_ = std::make_unique<SshServers>();
    fake_.addresses = servers_->addresses();
    fake_.host_keys = servers_->host_keys();
    fake_.polls = 1;
    fake_.on_metadata = [this](const Json& metadata) {
      ++pushed_;
      servers_->take(metadata);
    };
    bring_up(tpu_, "p", {"pod", {kZone}, {"v2-8", "x"}}, patience_);
  }

  SshAccess open(const std::string& workers = "all") {
    // The tests may run as root, which only these servers accept.
    const SshSettings settings{local_user(), workers, "", servers_->config(), {}, false};
    return open_ssh(tpu_, "p", *tpu_.node(kZone, "pod"), settings, patience_);
  }
  std::vector<FleetEnd> run(const SshAccess& access, const std::string& command) {
    std::vector<FleetProgram> programs;
    for (const SshWorker& worker : access.workers)
      programs.push_back({worker.index, ssh_words(access, worker, command)});
    return run_words(programs);
  }
  std::vector<FleetEnd> run_words(const std::vector<FleetProgram>& programs) {
    FleetRules rules;
    rules.tries = 1;
    out_.clear();
    rules.out = rules.err = [this](const std::string& text) { out_ += text; };
    return run_fleet(programs, rules);
  }

  Patience patience_{[](std::chrono::milliseconds) {}, [](const std::string&) {}};
  std::unique_ptr<SshServers> servers_;
  int pushed_ = 0;
  std::string out_;
};

TEST_F(SshTest, RunsOnAllWorkersAndReturnsTheWorstStatus) {
  const SshAccess access = open();
  EXPECT_TRUE(access.key_is_new);
  const auto ends = run(access, guarded_command("echo \"I am $WORKER\"; exit $((WORKER * 2))"));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ends[static_cast<std::size_t>(i)].status, 2 * i) << out_;
    EXPECT_THAT(out_, HasSubstr(str("[worker ", i, "] I am ", i, "\n")));
  }
  EXPECT_EQ(worst_status(ends), 6);
  // The key is pushed once, and only its owner can read it.
  EXPECT_FALSE(open("1,3").key_is_new);
  EXPECT_EQ(pushed_, 1);
  struct ::stat key{};
  ASSERT_EQ(::stat(access.key_file.c_str(), &key), 0);
  EXPECT_EQ(key.st_mode & 0777, 0600u);
  EXPECT_EQ(tpu_.node(kZone, "pod")->metadata.size(), 1u);
}

TEST_F(SshTest, RejectsAWorkerWithAnotherHostKey) {
  servers_->restart_with_another_key(2);
  const auto ends = run(open(), "true");
  EXPECT_EQ(ends[2].status, 255);
  EXPECT_THAT(out_, HasSubstr("[worker 2] Host key verification failed."));
  for (const std::size_t i : {0, 1, 3}) EXPECT_EQ(ends[i].status, 0) << out_;
  fake_.host_keys = servers_->host_keys();  // Google reports the new key
  EXPECT_EQ(worst_status(run(open(), "true")), 0) << out_;
}

TEST_F(SshTest, PinsTheFirstHostKeyIfGoogleReportsNone) {
  fake_.host_keys.clear();
  EXPECT_EQ(worst_status(run(open("0,1"), "true")), 0) << out_;
  servers_->restart_with_another_key(1);
  const auto ends = run(open("0,1"), "true");
  EXPECT_EQ(ends[0].status, 0) << out_;
  EXPECT_EQ(ends[1].status, 255);
  EXPECT_THAT(out_, HasSubstr("Host key verification failed."));
}

TEST_F(SshTest, NeverAsksForAPassword) {
  const SshAccess access = open("0,3");
  servers_->take({{"ssh-keys", ""}});
  servers_->stop(3);
  const auto ends = run(access, "true");
  EXPECT_THAT(ends[0].why_not, HasSubstr("Permission denied (publickey)"));
  EXPECT_THAT(ends[1].why_not, HasSubstr("Connection refused"));
  EXPECT_EQ(worst_status(ends), 255);
}

TEST_F(SshTest, SignalLeavesNothingRunning) {
  const SshAccess access = open("0,1");
  const std::string file = home_.dir.file("ended");
  const std::string command = guarded_command(
      str("trap 'echo $WORKER >> ", file, "; exit 1' TERM; echo begun; sleep 600 & wait"));
  const StopSignal signal("");
  FleetRules rules;
  rules.grace = std::chrono::minutes(1);
  rules.err = rules.out = [this](const std::string& text) {
    out_ += text;
    if (std::ranges::count(out_, '\n') == 2) ::raise(SIGINT);
  };
  std::vector<FleetProgram> programs;
  for (const SshWorker& worker : access.workers)
    programs.push_back({worker.index, ssh_words(access, worker, command)});
  EXPECT_THROW(run_fleet(programs, rules), Stopped) << out_;
  const std::string ended = io::read_file(file);
  EXPECT_THAT(ended, AllOf(HasSubstr("0\n"), HasSubstr("1\n")));
}

TEST_F(SshTest, CopiesFilesToAndFromAllWorkers) {
  const SshAccess access = open("0,2");
  const std::string from = home_.dir.file("a file"), to = home_.dir.file("there");
  io::write_file(from, "text");
  io::make_folders(to);
  std::vector<FleetProgram> programs;
  for (const SshWorker& worker : access.workers)
    programs.push_back(
        {worker.index, scp_words(access, worker, {from},
                                 remote_path(access, worker, str(to, "/", worker.index)))});
  EXPECT_EQ(worst_status(run_words(programs)), 0) << out_;
  EXPECT_THAT(io::list_folder(to), ElementsAre("0", "2"));
  EXPECT_EQ(io::read_file(to + "/2"), "text");
  const SshWorker& worker = access.workers[0];
  EXPECT_EQ(worst_status(run_words({{0, scp_words(access, worker, {remote_path(access, worker, to)},
                                                  home_.dir.file("back"))}})),
            0)
      << out_;
  EXPECT_EQ(io::read_file(home_.dir.file("back/0")), "text");
}

TEST_F(SshTest, JobContinuesWithoutAConnection) {
  const SshAccess access = open("0");
  // The command must not write to the home folder of the user who runs the tests.
  const std::string home = "export HOME=" + home_.dir.path() + "\n";
  const std::string go = home_.dir.file("go");
  const auto status = [&](const std::string& command) {
    return run(access, "sh -c " + shell_word(home + command))[0].status;
  };
  EXPECT_EQ(status(show_job(10, false)), 1);
  EXPECT_THAT(out_, HasSubstr("no command was started here"));
  EXPECT_EQ(status(start_job(str("echo begun; while [ ! -e ", go,
                                 " ]; do sleep 0.1; done; echo "
                                 "\"it's done\"; exit 4"))),
            0);
  EXPECT_EQ(status(start_job("true")), 75);
  EXPECT_EQ(status(show_job(10, false)), 0) << out_;
  io::write_file(go, "");
  EXPECT_EQ(status(show_job(10, true)), 4);
  EXPECT_THAT(out_, HasSubstr("begun\n"));
  EXPECT_THAT(out_, HasSubstr("it's done\n"));
  EXPECT_EQ(status(start_job("sleep 600")), 0);
  EXPECT_EQ(status(stop_job()), 0);
  EXPECT_EQ(status(stop_job()), 0);
  EXPECT_THAT(out_, HasSubstr("no command runs here"));
}

// A closed terminal or a shutdown sends SIGHUP in addition to SIGTERM.
TEST_F(SshTest, StopWaitsForTheJobToSave) {
  const SshAccess access = open("0");
  const std::string home = "export HOME=" + home_.dir.path() + "\n", log = ".smelt-job/log";
  const auto status = [&](const std::string& command) {
    return run(access, "sh -c " + shell_word(home + command))[0].status;
  };
  const std::string saves =
      "trap 'sleep 2; echo saved; exit 75' TERM; echo begun; "
      "while :; do sleep 0.05; done";
  const std::string begun = "until grep -q begun $HOME/.smelt-job/log; do sleep 0.05; done; ";
  EXPECT_EQ(status(start_job(saves)), 0);
  EXPECT_EQ(status(begun + "kill -s HUP -- -$(cat $HOME/.smelt-job/pid)\n" + stop_job()), 0);
  EXPECT_THAT(out_, HasSubstr("waiting for the command to save and end: 1 of at most 600 s\n"));
  EXPECT_THAT(out_, HasSubstr("stopped\n"));
  EXPECT_THAT(io::read_file(home_.dir.file(log)),
              AllOf(testing::StartsWith("begun\n"), testing::EndsWith("saved\n")));
  EXPECT_EQ(io::read_file(home_.dir.file(".smelt-job/exit")), "75\n");
  EXPECT_EQ(status(start_job("trap '' TERM; echo begun; sleep 600")), 0);
  EXPECT_EQ(status(begun + stop_job(1)), 0);
  EXPECT_THAT(out_, HasSubstr("killed: it did not end within 1 s\n"));
}

TEST_F(SshTest, RejectsInvalidUsersFirst) {
  EXPECT_THAT(error_of<UsageError>([&] { require_user("root"); }),
              HasSubstr("cannot sign in to a machine as root"));
  EXPECT_THAT(error_of<UsageError>([&] { require_user("-oProxyCommand=x"); }),
              HasSubstr("is not a valid user name"));
  expect_refusal("cloud ssh root@pod --project p --command true",
                 HasSubstr("cannot sign in to a machine as root"));
  expect_refusal("cloud ssh me@pod --project p --worker 4 --command true",
                 HasSubstr("worker '4' does not exist; the machine has 4"));
  expect_refusal("cloud ssh me@pod --project p --worker x --command true",
                 HasSubstr("'x' is not a list of workers"));
  expect_refusal("cloud ssh me@pod --project p --worker all",
                 HasSubstr("a shell needs one worker"));
  expect_refusal("cloud cp a b --project p", HasSubstr("exactly one side must be on a machine"));
  expect_refusal("cloud run me@pod --project p", HasSubstr("nothing to run"));
  fake_.preempt("pod");
  expect_refusal("cloud ssh me@pod --project p --command true",
                 HasSubstr("cloud: pod in us-central1-a is PREEMPTED"));
}

TEST_F(SshTest, DryRunPrintsTheCommands) {
  const std::string said =
      run_smelt(
          "cloud ssh me@pod --project p --worker 0,2 --dry-run --command 'a b' "
          "--ssh-option ProxyCommand=x")
          .text;
  EXPECT_THAT(said, AllOf(HasSubstr("'BatchMode=yes'"), HasSubstr("'ProxyCommand=x'"),
                          HasSubstr("'StrictHostKeyChecking=yes'"),
                          HasSubstr("'KexAlgorithms=^curve25519-sha256'"),
                          HasSubstr("'-l' 'me' '--' '127.0.0.13'"), Not(HasSubstr("PLANTED"))));
  EXPECT_THAT(run_smelt("cloud cp me@pod:x y --project p --worker all --dry-run").text,
              HasSubstr("'me@127.0.0.14:x' 'y/worker-3'"));
  EXPECT_THAT(run_smelt("cloud ssh me@pod --project p --dry-run").text,
              Not(HasSubstr("KexAlgorithms")));
  // The dry runs created and uploaded nothing.
  EXPECT_FALSE(io::exists(home_.dir.file(".ssh")));
  EXPECT_EQ(pushed_, 0);
  if (::geteuid() == 0) return;
  const CommandOutput ran = run_smelt(str("cloud ssh pod --project p --worker all --ssh-config ",
                                          servers_->config(), " --command 'exit $WORKER'"));
  EXPECT_EQ(ran.status, 3) << ran.text;
}

class SshKeyTest : public TpuTest {
 protected:
  void SetUp() override {
    fake_.polls = 1;
    bring_up(tpu_, "p", {"pod", {kZone}, {"v2-8", "x"}}, patience_);
  }
  bool push() {
    return push_key(tpu_, "p", *tpu_.node(kZone, "pod"), "me", "ssh-ed25519 AAAA", patience_);
  }
  static ServedAnswer refusal(const char* code) {
    const Json error{{"status", code}, {"message", "another operation is in progress"}};
    return {400, Json{{"error", error}}.dump()};
  }

  int waits_ = 0;
  Patience patience_{[this](std::chrono::milliseconds) { ++waits_; }, [](const std::string&) {}};
};

TEST_F(SshKeyTest, RetriesWhileAnotherOperationIsInProgress) {
  fake_.change_faults = {refusal("FAILED_PRECONDITION"), refusal("ABORTED")};
  waits_ = 0;
  EXPECT_TRUE(push());
  EXPECT_EQ(waits_, 2);
  EXPECT_EQ(tpu_.node(kZone, "pod")->metadata.at("ssh-keys"), "me:ssh-ed25519 AAAA me");
  EXPECT_FALSE(push());
}

TEST_F(SshKeyTest, OperationThatNeverEndsIsASystemError) {
  fake_.change_faults.assign(100, refusal("FAILED_PRECONDITION"));
  EXPECT_THAT(error_of<SystemError>([&] { push(); }),
              HasSubstr("the key for pod in us-central1-a: another operation is in progress"));
  fake_.change_faults = {refusal("OUT_OF_RANGE")};
  EXPECT_THROW(push(), OtherRefusal);
}

TEST_F(SshKeyTest, KeyWithAPassphraseNeedsAnAgent) {
  const std::string file = ssh_key_file();
  EXPECT_EQ(file, home_.dir.file(".ssh/google_compute_engine"));
  io::make_folders(io::parent_path(file));
  ASSERT_EQ(
      run_program({"ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-N", "words", "-f", file}), 0);
  const ScopedVariable no_agent("SSH_AUTH_SOCK");
  const auto refusal = [&] { return error_of<UsageError>([&] { require_usable_key(file); }); };
  EXPECT_THAT(
      error_of<io::CredentialsRefused>([&] { require_usable_key(file); }),
      AllOf(HasSubstr(file + ": this key has a passphrase and is not loaded in an ssh agent"),
            HasSubstr("hint: ssh-add " + file)));
  expect_refusal("cloud ssh me@pod --project p --command true", HasSubstr("hint: ssh-add " + file));
  // From here on an agent holds the key: a fake ssh-add lists it.
  const ScopedVariable agent("SSH_AUTH_SOCK", home_.dir.file("agent"));
  const ScopedVariable path("PATH",
                            make_program(home_.dir, "ssh-add", str("cat ", file, ".pub\n")));
  EXPECT_EQ(refusal(), "no error");
  ::chmod(file.c_str(), 0644);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(": ssh cannot use this key: "), HasSubstr("chmod 600")));
  // If ssh-keygen cannot run, the error is about ssh-keygen and not about the key.
  const ScopedVariable no_programs("PATH", home_.dir.path());
  EXPECT_THAT(error_of<SystemError>([&] { require_usable_key(file); }),
              AllOf(HasSubstr(": ssh-keygen, which checks the key, did not run: "),
                    HasSubstr("hint: apt-get install openssh-client")));
}

TEST_F(SshKeyTest, UsesTheAgentOfIdentityAgent) {
  const std::string file = ssh_key_file(), agent = home_.dir.file("own agent");
  io::make_folders(io::parent_path(file));
  ASSERT_EQ(
      run_program({"ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-N", "words", "-f", file}), 0);
  const ScopedVariable other("SSH_AUTH_SOCK", "/other");
  const std::string config = home_.dir.file("config");
  const SshAgentSource source{"10.0.0.1", config, {}};
  const auto set_agent = [&](const std::string& value) {
    io::write_file(config, str("Host 10.*\n  IdentityAgent ", value, "\n"));
  };
  const auto refusal = [&](const SshAgentSource& from) {
    return error_of<io::CredentialsRefused>([&] { require_usable_key(file, from); });
  };
  set_agent(str('"', agent, '"'));
  EXPECT_THAT(refusal(source),
              AllOf(HasSubstr(str("the agent at ", agent, " (IdentityAgent in ssh's")),
                    HasSubstr(str("hint: SSH_AUTH_SOCK='", agent, "' ssh-add ", file))));
  // From here on that agent holds the key: a fake ssh-add lists it.
  const ScopedVariable path(
      "PATH", make_program(home_.dir, "ssh-add",
                           str("[ \"$SSH_AUTH_SOCK\" = '", agent, "' ] && cat ", file, ".pub\n")));
  EXPECT_EQ(refusal(source), "no error");
  EXPECT_THAT(refusal({"192.0.2.1", config, {}}),
              HasSubstr("has a passphrase and is not loaded in an ssh agent"));
  EXPECT_THAT(refusal({"10.0.0.1", config, {"IdentityAgent=none"}}),
              AllOf(HasSubstr("names no agent"), HasSubstr("hint: remove IdentityAgent from")));
  const ScopedVariable named("OWN_AGENT", agent);
  set_agent("$OWN_AGENT");
  EXPECT_EQ(refusal(source), "no error");
}

TEST_F(SshKeyTest, CtrlCEndsTheRemoteCommandAndExitsWith130) {
  // A fake ssh that interrupts smelt and ends once its standard input is closed.
  const std::string ended = home_.dir.file("ended");
  const ScopedVariable path(
      "PATH", make_program(home_.dir, "ssh",
                           str("[ \"$1\" = -G ] && exit\nkill -INT $PPID\ncat >/dev/null\n: >",
                               ended, "\nexit 143\n")));
  const CommandOutput out = run_smelt("cloud ssh me@pod --project p --command 'sleep 600'");
  EXPECT_EQ(out.status, 130) << out.text;
  EXPECT_THAT(out.text, HasSubstr("stopped by a signal; all workers were asked to end"));
  EXPECT_TRUE(io::exists(ended));
}

TEST(Ssh, ParsesWorkersLikeGcloud) {
  EXPECT_THAT(parse_workers("all", 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(parse_workers("2,0-1,2", 3), ElementsAre(0, 1, 2));
  for (const char* text : {"", "1-", "-1", "2-1", "0-3", "a"})
    EXPECT_THROW(parse_workers(text, 3), UsageError) << text;
}

}  // namespace
}  // namespace smelt::cloud
