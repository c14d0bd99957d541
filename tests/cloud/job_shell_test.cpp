// A job's command on four real workers: how their states become one, and that each says its own.
#include "cloud/job_shell.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <thread>

#include "base/error.h"
#include "cloud/machines.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_test.h"
#include "store/file.h"
#include "store/folder.h"
#include "support/error_of.h"
#include "support/missing.h"

namespace smelt {
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
    for (int worker = 0; worker < kWorkers; ++worker) make_folders(home_of(worker));
    servers_ = std::make_unique<SshServers>(
        kWorkers, [this](int worker) { return "HOME=" + home_of(worker); });
    fake_.addresses = servers_->addresses();
    fake_.host_keys = servers_->host_keys();
    fake_.polls = 1;
    fake_.on_metadata = [this](const nlohmann::json& metadata) { servers_->take(metadata); };
    const Patience patience{[](std::chrono::milliseconds) {}, [](const std::string&) {}};
    bring_up(tpu_, "p", {"pod", {kZone}, {"v2-8", "x"}}, patience);
    node_ = *tpu_.node(kZone, "pod");
    JobSpec spec;
    spec.project = "p";
    shell_.emplace(spec, ShellTools{tpu_,
                                    {local_user(), "0", "", servers_->config(), {}, false},
                                    [this](const std::string& line) { told_ += line + "\n"; },
                                    {},
                                    0});
  }
  void TearDown() override {
    for (int worker = 0; worker < kWorkers; ++worker)
      if (const std::string job = home_of(worker) + "/.smelt-job/pid"; exists(job))
        ::kill(-std::stoi(read_file(job)), SIGKILL);
  }
  std::string home_of(int worker) const { return home_.dir.file(str("worker-", worker)); }
  // Looks until it is so; what was printed until then.
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

  std::unique_ptr<SshServers> servers_;
  TpuNode node_;
  std::optional<JobShell> shell_;
  JobWorkers::Look last_;
  std::string told_;
};

TEST_F(JobShellTest, TheLinesOfEachWorkerAreItsOwn) {
  EXPECT_EQ(shell_->look(node_, 600, {}).state, State::none);
  shell_->start(node_, "echo I am $WORKER; printf 'no end'");
  const std::string log = until(State::ended);
  EXPECT_EQ(last_.status, 0);
  for (int worker = 0; worker < kWorkers; ++worker)
    EXPECT_THAT(log, AllOf(HasSubstr(str("[worker ", worker, "] I am ", worker, "\n")),
                           HasSubstr(str("[worker ", worker, "] no end\n"))));
  EXPECT_EQ(told_, "");
}

TEST_F(JobShellTest, OneThatFailsEndsAllAndItsStatusCounts) {
  shell_->start(node_, "if [ $WORKER = 2 ]; then exit 3; fi; sleep 600");
  until(State::ended);
  EXPECT_EQ(last_.status, 3);
  EXPECT_THAT(told_, HasSubstr("pod: 3 of its workers did not end by themselves\n"));
}

TEST_F(JobShellTest, AWorkerThatHasNoCommandGetsIt) {
  shell_->start(node_, "until [ -e $HOME/end ]; do sleep 0.1; done");
  const std::string first = read_file(home_of(0) + "/.smelt-job/pid");
  ::kill(-std::stoi(read_file(home_of(3) + "/.smelt-job/pid")), SIGKILL);
  remove_tree(home_of(3) + "/.smelt-job");
  EXPECT_EQ(shell_->look(node_, 600, {}).state, State::none);
  shell_->start(node_, "until [ -e $HOME/end ]; do sleep 0.1; done");
  EXPECT_EQ(shell_->look(node_, 600, {}).state, State::running);
  EXPECT_EQ(read_file(home_of(0) + "/.smelt-job/pid"), first);
  shell_->stop(node_);
  until(State::ended);
}

TEST_F(JobShellTest, AWorkerThatIsNotReachedIsNamed) {
  (void)shell_->look(node_, 600, {});
  servers_->stop(1);
  EXPECT_THAT(error_of<SystemError>([&] { (void)shell_->look(node_, 600, {}); }),
              HasSubstr("pod, worker 1 in us-central1-a is not reached: "));
}

}  // namespace
}  // namespace smelt
