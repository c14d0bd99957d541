// A test fixture that runs a whole job on stand-ins: the fake TPU API, real sshd servers as
// workers, a bucket of the emulator, and a package that runs the program of this build.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "cli/cloud/job_watch.h"
#include "cloud/ssh_servers.h"
#include "cloud/tpu_test.h"
#include "distributed/stand_in/pod_run.h"
#include "support/gcs_emulator.h"

namespace smelt::cli {

class CloudJob : public cloud::TpuTest {
 protected:
  explicit CloudJob(int workers = 1) : workers_(workers) {}
  void SetUp() override;
  void TearDown() override;

  // Returns further environment variables of a worker's commands: "NAME=value NAME=value".
  virtual std::string environment_of(int) const { return ""; }
  std::string worker_home(int worker = 0) const { return home_.dir.file(str("worker-", worker)); }
  std::string recipe() const { return home_.dir.file("r.yaml"); }
  static std::string folder();  // the test's folder in the bucket
  std::string package() const { return home_.dir.file("smelt.tar.zst"); }
  std::string out() const { return home_.dir.file("result"); }
  cloud::JobSpec spec() const;
  // Returns the job of the recipe with these settings on a machine of this type.
  JobLead lead(const std::vector<std::string>& settings = {},
               const std::string& type = "v3-8") const;
  // Waits for the first checkpoint and preempts the machine before the next one.
  void preempt_in_the_middle();
  void kill_jobs() const;
  int count_requests(const std::string& method, const std::string& target) const;

  const int workers_;
  std::mutex mutex_;
  std::atomic<bool> may_delete_ = true;  // whether the machine may delete itself
  HttpServer guarded_{[this](const ServedRequest& request) {
    if (request.target.ends_with(":testIamPermissions"))
      return ServedAnswer{200, may_delete_ ? R"({"permissions": ["tpu.nodes.delete"]})" : "{}"};
    const std::lock_guard lock(mutex_);
    return fake_.serve(request);
  }};
  const ScopedVariable guarded_url_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", guarded_.url("")};
  const ScopedVariable projects_url_{"CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER",
                                     guarded_.url("")};
  std::optional<ScopedVariable> endpoint_, storage_;
  // Shared by all test suites, because a process looks up the address of its object store once.
  static inline std::unique_ptr<GcsEmulator> emulator_;
  std::unique_ptr<cloud::SshServers> servers_;

 private:
  void write_inputs() const;
  void write_package() const;
};

// Returns the environment variables that a launcher sets for the pod's process on a worker.
std::string pod_environment(const distributed::Pod& pod, int processes, int worker,
                            const std::string& hub);

}  // namespace smelt::cli
