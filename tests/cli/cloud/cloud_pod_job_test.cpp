// A whole job on stand-ins (cli/cloud/cloud_job.h) with a machine of four hosts. Its processes form
// a pod of the stand-in plugin (tests/distributed/stand_in).
#include <gmock/gmock.h>
#include <signal.h>

#include <thread>

#include "cli/cloud/cloud_job.h"
#include "cloud/job_shell.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/command.h"
#include "support/plugins.h"
#include "support/server_process.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

constexpr int kHosts = 4, kDevicesEach = 1;

class CloudPodJob : public CloudJob {
 protected:
  CloudPodJob() : CloudJob(kHosts) { fake_.zones[cloud::kZone].types.emplace_back("v2-32"); }
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    pod_.emplace(distributed::PodSize{.processes = kHosts, .devices_each = kDevicesEach},
                 std::vector<std::string>{"--platform", "tpu"});
    CloudJob::SetUp();
  }
  std::string environment_of(int worker) const override {
    return pod_environment(*pod_, kHosts, worker, hub_);
  }
  static std::vector<std::string> settings() {
    return {"train.device=tpu", str("train.devices=", kHosts * kDevicesEach)};
  }
  // Waits for the first checkpoint, kills the command of one worker, and waits until the job has
  // started the command again on all workers.
  void lose_one_process() const {
    while (!io::exists(folder() + "/run/model/checkpoint-10/COMMIT"))
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto now = [&] { return run_command("cat " + worker_home(2) + "/.smelt-job/pid").text; };
    const std::string pid = now();
    ::kill(-std::stoi(pid), SIGKILL);
    while (std::atoi(now().c_str()) == 0 || now() == pid)  // the file may be missing or empty
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  // Runs the same recipe on a pod without any interruption.
  void run_undisturbed(const std::string& to) {
    std::vector<std::string> words{smelt_program(), "run", recipe(), "--set", "out=" + to};
    for (const std::string& setting : settings()) words.insert(words.end(), {"--set", setting});
    words.insert(words.end(),
                 {"--processes", str(kHosts), "--process", "{process}", "--hub", "{hub}"});
    ASSERT_THAT(pod_->run(words), Each(0)) << pod_->said(0) << pod_->said(1);
  }

  const std::string hub_ = str("127.0.0.1:", free_port());
  std::optional<distributed::Pod> pod_;
};

TEST_F(CloudPodJob, LostProcessAndPreemptionGiveTheSameResultAsAnUninterruptedRun) {
  emulator_->fault(R"([{"match": "checkpoint-20", "times": 100000, "do": "status 503"}])");
  const std::jthread disturbs([this] {
    lose_one_process();
    preempt_in_the_middle();
  });
  cloud::GoogleApi api = job_api();
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  lead_job(api, lead(settings(), "v2-32"));
  const std::string said = testing::internal::GetCapturedStdout();
  const std::string logs = testing::internal::GetCapturedStderr();
  EXPECT_THAT(
      said, AllOf(HasSubstr("copying smelt.tar.zst to smelt-abc123, 4 of its workers"),
                  HasSubstr("checkpoint of step 10"), HasSubstr("the command ended with status 76"),
                  HasSubstr("started (start 2)"), HasSubstr("is PREEMPTED"),
                  HasSubstr("started (start 3)"),
                  HasSubstr("everything that the job created is deleted")))
      << said << logs;
  for (int worker = 0; worker < kHosts; ++worker)
    EXPECT_THAT(logs, HasSubstr(str("[worker ", worker, "] "))) << logs;
  EXPECT_THAT(logs, HasSubstr("pod: process 3 of 4"));
  EXPECT_TRUE(fake_.states().empty());
  const std::string alone = home_.dir.file("alone");
  run_undisturbed(alone);
  EXPECT_EQ(io::read_file(out() + "/model/eval_results.txt"),
            io::read_file(alone + "/model/eval_results.txt"));
  EXPECT_TRUE(io::exists(out() + "/model/checkpoint-20/COMMIT"));
}

}  // namespace
}  // namespace smelt::cli
