// Operations on the workers of a job's machine by OpenSSH, in parallel.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "cloud/job.h"
#include "cloud/job_guard.h"
#include "cloud/ssh.h"

namespace smelt::cloud {

// The environment of JobShell.
struct ShellTools {
  TpuApi& tpu;
  SshSettings ssh;                               // for all workers
  std::function<void(const std::string&)> tell;  // prints a status line
  GuardAddresses guard;
  // Seconds after the failure of one worker's command until the others are stopped. Processes of a
  // pod normally end each other earlier.
  double stragglers = 120;
  // Time from the request to end until a program is killed; time between two attempts to reach a
  // worker.
  std::chrono::milliseconds grace{10'000}, between{5'000};
};

// Returns the path of the job's package in the bucket.
std::string staged_package(const JobSpec& spec);

// A temporary folder that only this user can access, deleted by the destructor.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// JobWorkers by ssh and scp.
class JobShell : public JobWorkers {
 public:
  JobShell(JobSpec spec, ShellTools tools);

  void install(const TpuNode& node, const NextPart& next) override;
  std::optional<bool> may_delete_itself(const TpuNode& node) override;
  void start(const TpuNode& node, const std::string& command) override;
  Look look(const TpuNode& node, double seconds_left,
            const std::vector<std::uint64_t>& log_from) override;
  void stop(const TpuNode& node) override;
  void keep_log(const TpuNode& node) override;

 private:
  using Workers = std::vector<SshWorker>;
  // The result of a command on one worker.
  struct Ran {
    int worker = 0, status = 0;
    std::string out, err;
  };
  using WordsOf = std::function<std::vector<std::string>(const SshWorker& worker)>;
  using CommandOf = std::function<std::string(const SshWorker& worker)>;
  SshAccess& access(const TpuNode& node);
  std::vector<Ran> run(const TpuNode& node, const Workers& workers, const WordsOf& words,
                       bool reads_input, std::chrono::seconds at_most);
  std::vector<Ran> shell(const TpuNode& node, const Workers& workers, const CommandOf& command,
                         std::chrono::seconds at_most = std::chrono::minutes(2));
  std::vector<Ran> shell(const TpuNode& node, const Workers& workers, const std::string& command,
                         std::chrono::seconds at_most = std::chrono::minutes(2));
  std::string name_of(const TpuNode& node, int worker) const;
  void require(const std::vector<Ran>& ran, const TpuNode& node, const std::string& what,
               int also_good = 0) const;
  void end_stragglers(const TpuNode& node, const Look& look, const Workers& running);
  std::string package_folder() const;
  std::string local_package();
  void bring_package(const TpuNode& node);
  Workers fetch_package(const TpuNode& node, const Workers& bare);
  void copy_package(const TpuNode& node, const Workers& bare);
  Part next_part(const TpuNode& node);

  JobSpec spec_;
  ShellTools tools_;
  std::optional<SshAccess> access_;
  std::string node_;     // the machine that `access_` belongs to
  std::string package_;  // local path
  // folder of the package if it was downloaded from the bucket
  std::unique_ptr<PrivateFolder> fetched_;
  std::optional<Clock::time_point> failed_since_;  // when one worker failed while others still run
  NextPart next_;
};

}  // namespace smelt::cloud
