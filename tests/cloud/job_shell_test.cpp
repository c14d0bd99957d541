// A job's command on four workers, which are real sshd servers: their states are combined into one,
// and their output lines are prefixed.
#include "cloud/job_shell.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <thread>

#include "base/error.h"
#include "cloud/file_hash.h"
#include "cloud/machines.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_test.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/missing.h"

namespace smelt::cloud {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kWorkers = 4;

class JobShellTest : public TpuTest {
 protected:
  using State = JobWorkers::Look::State;
  void SetUp() override {
    if (ssh_server_program().empty())
      SKIP_OR_FAIL_WITHOUT("sshd", "apt-get install openssh-server");
    for (int worker = 0; worker < kWorkers; ++worker) io::make_folders(home_of(worker));
    servers_ = std::make_unique<SshServers>(kWorkers, [this](int worker) {
      return str("HOME=", home_of(worker), " GCE_METADATA_HOST=127.0.0.1:1");
    });
    fake_.addresses = servers_->addresses();
    fake_.host_keys = servers_->host_keys();
    fake_.polls = 1;
    fake_.on_metadata = [this](const Json& metadata) { servers_->take(metadata); };
    const Patience patience{[](std::chrono::milliseconds) {}, [](const std::string&) {}};
    bring_up(tpu_, "p", {"pod", {kZone}, {"v2-8", "x"}}, patience);
    node_ = *tpu_.node(kZone, "pod");
    JobSpec spec;
    spec.project = "p";
    spec.folder = "gs://bucket/job";
    spec.package = write_package();
    spec.package_sha256 = file_sha256(spec.package);
    shell_.emplace(spec,
                   ShellTools{tpu_,
                              {local_user(), "0", "", servers_->config(), {}, false},
                              [this](const std::string& line) { told_ += line + "\n"; },
                              {"", "$HOME", "http://" + bucket_.host(), "http://" + bucket_.host()},
                              0,
                              std::chrono::milliseconds(200),
                              std::chrono::milliseconds(200)});
  }
  std::string write_package() const {
    io::make_folders(home_.dir.file("pack/smelt/bin"));
    io::write_file(home_.dir.file("pack/smelt/bin/smelt"), "#!/bin/sh\n");
    const std::string package = home_.dir.file("smelt.tar.zst");
    run_command(str("cd ", home_.dir.file("pack"), "; chmod +x smelt/bin/smelt; tar --zstd -cf ",
                    package, " smelt"));
    return package;
  }
  void TearDown() override {
    for (int worker = 0; worker < kWorkers; ++worker)
      for (const char* each : {"/.smelt-job/pid", "/.smelt-guard/pid"})
        if (const std::string pid = home_of(worker) + each; io::exists(pid))
          ::kill(-std::stoi(io::read_file(pid)), SIGKILL);
  }
  std::string home_of(int worker) const { return home_.dir.file(str("worker-", worker)); }
  // Polls until the command has the state. Returns its output up to then.
  std::string until(State state) {
    std::string log;
    std::vector<std::uint64_t> from;
    for (;; std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
      last_ = shell_->look(node_, 600, from);
      log += last_.log;
      from = last_.log_end;
      if (last_.state == state) return log;
    }
  }

  static JobWorkers::NextPart within(double at_most) {
    return [at_most](double) { return JobWorkers::Part{at_most, 600}; };
  }

  std::string in_bucket_;  // content of the package in the bucket; "": the download is refused
  std::string rights_ = "{}";
  std::chrono::milliseconds bucket_late_{0};
  HttpServer bucket_{[this](const ServedRequest& request) {
    const bool reads = request.method == "GET";
    ServedAnswer answer{reads && in_bucket_.empty() ? 403 : 200, reads ? in_bucket_ : rights_};
    answer.late = bucket_late_;
    return answer;
  }};
  std::unique_ptr<SshServers> servers_;
  TpuNode node_;
  std::optional<JobShell> shell_;
  JobWorkers::Look last_;
  std::string told_;
};

TEST_F(JobShellTest, PrefixesTheLinesOfEachWorker) {
  EXPECT_EQ(shell_->look(node_, 600, {}).state, State::none);
  shell_->start(node_, "echo I am $WORKER; printf 'no end'");
  const std::string log = until(State::ended);
  EXPECT_EQ(last_.status, 0);
  for (int worker = 0; worker < kWorkers; ++worker)
    EXPECT_THAT(log, AllOf(HasSubstr(str("[worker ", worker, "] I am ", worker, "\n")),
                           HasSubstr(str("[worker ", worker, "] no end\n"))));
  // An exit status that could not be stored (an empty file) counts as a failure.
  io::write_file(home_of(1) + "/.smelt-job/exit", "");
  EXPECT_EQ(shell_->look(node_, 600, {}).status, 137);
  EXPECT_EQ(told_, "");
}

TEST_F(JobShellTest, FailedWorkerEndsAllAndGivesTheStatus) {
  shell_->start(node_, "if [ $WORKER = 2 ]; then exit 3; fi; sleep 600");
  until(State::ended);
  EXPECT_EQ(last_.status, 3);
  EXPECT_THAT(told_, HasSubstr("pod: 3 of its workers did not end; stopping them\n"));
}

// Status 2 is an error that the user has to correct; another start would fail the same way.
TEST_F(JobShellTest, UsageErrorStatusTakesPrecedence) {
  shell_->start(node_, "exit $(( WORKER == 3 ? 1 : WORKER ))");
  until(State::ended);
  EXPECT_EQ(last_.status, 2);
}

TEST_F(JobShellTest, StartsTheCommandOnAWorkerWithoutIt) {
  shell_->start(node_, "until [ -e $HOME/end ]; do sleep 0.1; done");
  const std::string first = io::read_file(home_of(0) + "/.smelt-job/pid");
  ::kill(-std::stoi(io::read_file(home_of(3) + "/.smelt-job/pid")), SIGKILL);
  io::remove_tree(home_of(3) + "/.smelt-job");
  EXPECT_EQ(shell_->look(node_, 600, {}).state, State::none);
  shell_->start(node_, "until [ -e $HOME/end ]; do sleep 0.1; done");
  EXPECT_EQ(shell_->look(node_, 600, {}).state, State::running);
  EXPECT_EQ(io::read_file(home_of(0) + "/.smelt-job/pid"), first);
  shell_->stop(node_);
  until(State::ended);
}

// Each worker downloads the package from the bucket. It is copied from here only if the download
// fails or has another checksum.
TEST_F(JobShellTest, DownloadsThePackageOrCopiesItFromHere) {
  const std::string package = home_.dir.file("smelt.tar.zst");
  in_bucket_ = io::read_file(package);
  shell_->install(node_, within(600));
  EXPECT_EQ(told_, "copying smelt.tar.zst to pod, 4 of its workers\n");
  ASSERT_EQ(bucket_.requests().size(), 4u);
  EXPECT_EQ(bucket_.requests()[0].target,
            "/storage/v1/b/bucket/o/job%2Finput%2Fpackage.tar.zst?alt=media");
  const std::string there = "/.smelt-package/" + file_sha256(package).substr(0, 16);
  for (const std::string content : {"", "another"}) {
    in_bucket_ = content;
    for (int worker = 0; worker < kWorkers; ++worker) {
      EXPECT_TRUE(io::exists(home_of(worker) + there + "/smelt/bin/smelt"));
      io::remove_tree(home_of(worker) + there);
    }
    told_.clear();
    shell_->install(node_, within(600));
    EXPECT_THAT(told_,
                HasSubstr("pod, worker 3 cannot download gs://bucket/job/input/package.tar.zst"));
    EXPECT_THAT(told_, HasSubstr(content.empty() ? "403; copying it from here" : "did NOT match"));
  }
}

TEST_F(JobShellTest, InstallationHasATimeLimit) {
  bucket_late_ = std::chrono::hours(1);
  EXPECT_THAT(error_of<SystemError>([&] { shell_->install(node_, within(1)); }),
              HasSubstr("no response in time"));
}

TEST_F(JobShellTest, AsksGoogleWhetherItMayDeleteItself) {
  EXPECT_EQ(shell_->may_delete_itself(node_), false);  // the response lists no permission
  EXPECT_EQ(bucket_.requests().front().target, "/v1/projects/p:testIamPermissions");
  rights_ = R"({"permissions": ["tpu.nodes.delete"]})";
  EXPECT_EQ(shell_->may_delete_itself(node_), true);
  rights_ = "no JSON";
  EXPECT_EQ(shell_->may_delete_itself(node_), std::nullopt);
}

TEST_F(JobShellTest, CopiesEachWorkersLogToTheBucket) {
  shell_->start(node_, "echo I am $WORKER");
  until(State::ended);
  shell_->keep_log(node_);
  std::string kept;
  for (const ServedRequest& request : bucket_.requests())
    kept += request.target + " " + request.body;
  for (int worker = 0; worker < kWorkers; ++worker)
    EXPECT_THAT(kept, HasSubstr(str("Z-worker-", worker, ".txt I am ", worker, "\n")));
}

TEST_F(JobShellTest, ReportsAnUnreachableWorker) {
  (void)shell_->look(node_, 600, {});
  servers_->stop(1);
  EXPECT_THAT(error_of<SystemError>([&] { (void)shell_->look(node_, 600, {}); }),
              HasSubstr("pod, worker 1 in us-central1-a cannot be reached: "));
}

}  // namespace
}  // namespace smelt::cloud
