// A job's worker, reached by OpenSSH.
#pragma once

#include <optional>

#include "cloud/job.h"
#include "cloud/job_guard.h"
#include "cloud/ssh.h"

namespace smelt {

struct ShellTools {
  TpuApi& tpu;
  SshSettings ssh;
  std::function<void(const std::string&)> tell;
  GuardPlace guard;
};

// Where a job's package lies in its folder of the bucket.
std::string staged_package(const JobSpec& spec);

class JobShell : public JobWorkers {
 public:
  JobShell(JobSpec spec, ShellTools tools) : spec_(std::move(spec)), tools_(std::move(tools)) {}

  void install(const TpuNode& node, double seconds_left) override;
  void start(const TpuNode& node, const std::string& command) override;
  Look look(const TpuNode& node, double seconds_left, std::uint64_t log_from) override;
  void stop(const TpuNode& node) override;

 private:
  struct Ran {
    int status = 0;
    std::string out, err;
  };
  SshAccess& access(const TpuNode& node);
  Ran run(const TpuNode& node, const std::vector<std::string>& words, bool reads_input,
          std::chrono::seconds at_most);
  Ran shell(const TpuNode& node, const std::string& command,
            std::chrono::seconds at_most = std::chrono::minutes(2));
  std::string package_folder() const;
  std::string local_package();
  void bring_package(const TpuNode& node);

  JobSpec spec_;
  ShellTools tools_;
  std::optional<SshAccess> access_;
  std::string node_;     // that it is of
  std::string package_;  // a file here
};

}  // namespace smelt
