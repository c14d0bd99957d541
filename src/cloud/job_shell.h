// A job's workers, reached by OpenSSH, all of them side by side.
#pragma once

#include <memory>
#include <optional>

#include "base/clock.h"
#include "cloud/job.h"
#include "cloud/job_guard.h"
#include "cloud/ssh.h"

namespace smelt {

struct ShellTools {
  TpuApi& tpu;
  SshSettings ssh;  // of all workers
  std::function<void(const std::string&)> tell;
  GuardPlace guard;
  // What still runs so long after another worker's command has failed is ended: processes of a pod
  // end each other before.
  double stragglers = 120;  // seconds
  // Time from the request to end until a program is killed, and between two tries to reach a
  // worker.
  std::chrono::milliseconds grace{10'000}, between{5'000};
};

// Where a job's package lies in its folder of the bucket.
std::string staged_package(const JobSpec& spec);

// A new folder for temporary files that no other user may read or write. Its end removes it.
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
  // Of each worker, in their order.
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
  std::string node_;                               // that it is of
  std::string package_;                            // a file here
  std::unique_ptr<PrivateFolder> fetched_;         // that it lies in if it came from the bucket
  std::optional<Clock::time_point> failed_since_;  // of one, while others run
  NextPart next_;
};

}  // namespace smelt
