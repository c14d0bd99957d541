// The one machine of a job: looked for under its name in all of the job's zones, asked for where
// there is none, and removed. Each call looks at what there is and does one thing about it, so that
// it does not matter what an earlier process did last.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cloud/job_journal.h"

namespace smelt {

struct JobTools {
  TpuApi& tpu;
  std::function<double()> now;                   // seconds since 1970
  std::function<void()> save;                    // the journal; before what it foretells
  std::function<void()> require_lead;            // throws where another leads the job by now
  std::function<void(const std::string&)> tell;  // a line for a person
};

// What a machine of the zone deletes itself with so many seconds after its start, unless it is told
// anew: a script that it runs then (cloud/job_guard.h).
using StartupScript = std::function<std::string(const std::string& zone, double seconds)>;

class JobMachines {
 public:
  JobMachines(JobJournal& journal, JobTools tools, StartupScript startup)
      : journal_(journal), tools_(std::move(tools)), startup_(std::move(startup)) {}

  // A step towards one that is READY; that one once it is. A zone that was asked is asked again, by
  // the same name, until it has said yes or no; only then another is. UsageError for a refusal that
  // no other zone mends.
  std::optional<TpuNode> seek();
  // The one that is there, as the API has it now; nothing when it is lost or gone, which the
  // journal says then. SystemError where it is not to be seen for once: a look is none.
  std::optional<TpuNode> current();
  // The one that is there is of no use.
  void remove();
  // Deletes this job's nodes and queued resources in its zones other than that of its current
  // machine. A supervisor that was suspended while another one took over may have requested them.
  void drop_strays();
  // A step towards none; true once it is certain that none is there or will come. SystemError for
  // what is left elsewhere in the project.
  bool clear();
  // All that has the run's label anywhere in the project, "name in zone", and those of the job's
  // zones that do not answer.
  std::vector<std::string> left();

 private:
  struct Seen {
    std::string zone;
    std::optional<TpuNode> node;
    std::optional<TpuQueued> queued;
    bool is_there() const { return node || queued; }
    bool is_good() const;
    bool is_going() const;  // being deleted already
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
  int unseen_ = 0;  // looks in a row at a machine that was made and is not there
};

}  // namespace smelt
