// The journal of a job on Google Cloud, stored in the bucket and with the run. It is sufficient for
// another process on another machine to continue the job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cloud/tpu_api.h"

namespace smelt::cloud {

// The specification of a job: its machine, its command and its limits.
struct JobSpec {
  std::string run;  // run id, used in machine_name() and the label smelt-run
  std::string project;
  struct Zone {
    std::string name;
    double dollars_an_hour = 0;
  };
  std::vector<Zone> zones;  // tried in this order
  NodeSpec node;
  bool queued = false;
  std::string folder;   // folder in the bucket with journal and run
  std::string user;     // login name on the machine
  std::string command;  // command that every worker runs
  // path on the computer that started the job; a copy is in the bucket
  std::string package, package_sha256;
  std::string setup;            // device whose plugin `smelt setup` installs; "" = none
  double budget = 0;            // US dollars for all machines of the job
  double until = 0;             // seconds since 1970; 0: no limit
  int attempts = 5;             // starts in a row without a new checkpoint before the job fails
  double silence = 3600;        // seconds without a supervisor until the machine deletes itself
  double patience = 24 * 3600;  // seconds without a machine until the job fails
  double turn = 2 * 3600;       // seconds in a zone's queue before the next zone is tried
};

// The steps of a job, in order.
enum class JobStep { stage, machine, install, train, stop, clean, collect, ended };

// A machine that was requested, and its cost.
struct JobMachine {
  std::string zone, operation;  // operation: "" if unknown
  double dollars_an_hour = 0;
  double asked = 0;      // when it was requested or last seen in the queue; seconds since 1970
  double paid_from = 0;  // start of billing; 0 while it is queued
  double gone = 0;       // time of deletion; 0: it may exist
  double deadline = 0;   // when it deletes itself
  double seen = 0;       // when it was last seen
  bool shown = false;    // whether it was ever seen as a node or in the queue
  bool stays = false;    // whether it cannot delete itself (missing permission)
};

// The state of a job.
struct JobJournal {
  JobSpec spec;
  JobStep step = JobStep::stage;
  std::string owner;                     // id of the process that leads the job
  std::vector<JobMachine> machines;      // only the last one may still exist
  std::size_t zone = 0;                  // index of the next zone to try
  double not_before = 0;                 // earliest next request, after all zones refused
  std::optional<std::int64_t> progress;  // step of the newest checkpoint seen
  int starts = 0, fruitless = 0;         // starts of the command; those since `progress` changed
  int refusals = 0;                      // rounds through all zones without a machine
  double stop_since = 0;                 // when the command was asked to end
  std::vector<std::uint64_t> log_end;    // bytes of each worker's output already shown
  std::string outcome;  // "done", "budget", "until", "failed", "asked"; "" while it runs
  std::string why;

  // Returns the current machine, or null.
  JobMachine* there() { return has_machine() ? &machines.back() : nullptr; }
  const JobMachine* there() const { return has_machine() ? &machines.back() : nullptr; }

 private:
  bool has_machine() const { return !machines.empty() && machines.back().gone == 0; }
};

// Returns the name of the job's nodes and queued resources.
std::string machine_name(const JobSpec& spec);
const char* word_of(JobStep step);

// Returns the time at which the billing of a machine ends. This is the time of its deletion, if
// known. Otherwise it is ten minutes after its deadline or the time when it was last seen,
// whichever is later, but at most `now`. A machine that may not delete itself is billed until
// `now`.
double paid_until(const JobMachine& machine, double now);

// Returns the US dollars spent on all machines so far, by the known prices.
double dollars_so_far(const JobJournal& journal, double now);

// Returns after how many seconds the current machine must delete itself if no supervisor resets its
// timer: `silence` (or `at_least`, if larger), but early enough that saving and deleting end within
// the budget and the time limit.
double seconds_left(const JobJournal& journal, double now, double at_least = 0);

OrderedJson json_of(const JobJournal& journal);
// Throws UsageError that begins with `where` if the text is not a valid journal.
JobJournal parse_journal(const std::string& text, const std::string& where);

// Where the journal is stored.
class JobStore {
 public:
  virtual ~JobStore() = default;
  virtual std::optional<std::string> read() = 0;
  // Writes atomically. Returns false without writing if an owner other than that of `text` has
  // written since the last read or write of this store.
  virtual bool write(const std::string& text) = 0;
};

inline constexpr const char* kJournalName = "cloud-job.json";
inline constexpr const char* kRunLabel = "smelt-run";

}  // namespace smelt::cloud
