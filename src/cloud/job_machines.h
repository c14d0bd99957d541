// The single machine of a job: finds it by name in all zones of the job, requests it if missing,
// and deletes it. Each call checks the actual state and takes one step, so it does not depend on
// what an earlier process did.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cloud/job_journal.h"

namespace smelt::cloud {

// The environment of JobMachines.
struct JobTools {
  TpuApi& tpu;
  std::function<double()> now;         // seconds since 1970
  std::function<void()> save;          // saves the journal; called before an action that it records
  std::function<void()> require_lead;  // throws if another process leads the job
  std::function<void(const std::string&)> tell;  // prints a status line
};

// Returns the startup script with which a machine in the zone deletes itself after `seconds` unless
// the timer is reset (cloud/job_guard.h).
using StartupScript = std::function<std::string(const std::string& zone, double seconds)>;

class JobMachines {
 public:
  JobMachines(JobJournal& journal, JobTools tools, StartupScript startup)
      : journal_(journal), tools_(std::move(tools)), startup_(std::move(startup)) {}

  // Takes a step towards a READY machine. Returns it once it is READY. A request to a zone is
  // repeated under the same name until it is accepted or refused; only then is the next zone tried.
  // Throws UsageError for a refusal that also applies to other zones.
  std::optional<TpuNode> seek();
  // Returns the current machine as the API reports it, or nullopt if it is lost or deleted, which
  // is then recorded in the journal. Throws SystemError if it is missing for the first time, since
  // a single look may be wrong.
  std::optional<TpuNode> current();
  // Deletes the current machine because it cannot be used.
  void remove();
  // Deletes this job's nodes and queued resources in its zones other than that of its current
  // machine. A supervisor that was suspended while another one took over may have requested them.
  void drop_strays();
  // Takes a step towards deleting every machine of the job. Returns true once no machine exists and
  // none can appear any more. Throws SystemError if resources of the job remain elsewhere in the
  // project.
  bool clear();
  // Returns all resources in the project with the run's name or label as "name in zone", and the
  // job's zones that do not respond.
  std::vector<std::string> left();

 private:
  struct Seen {
    std::string zone;
    std::optional<TpuNode> node;
    std::optional<TpuQueued> queued;
    bool is_there() const { return node || queued; }
    bool is_good() const;
    bool is_going() const;  // being deleted
  };
  std::vector<std::string> zones() const;
  std::vector<Seen> look();
  Seen look_in(const std::string& zone);
  void note(JobMachine& machine, const Seen& seen) const;
  void require_lead_if_known() const;
  bool drop(const std::vector<Seen>& all, const Seen* kept);
  bool drop_all();
  std::optional<TpuNode> await(const Seen& kept);
  void take_failures(const std::vector<Seen>& all);
  void settle();
  void ask();
  bool is_unseen();
  void refuse(const ApiFault& fault);
  void forget(const std::string& why);
  void close();
  double rate_in(const std::string& zone) const;

  JobJournal& journal_;
  JobTools tools_;
  StartupScript startup_;
  int unseen_ = 0;  // consecutive queries that did not find the machine
};

}  // namespace smelt::cloud
