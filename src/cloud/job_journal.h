// What is known of a job at Google, kept in the bucket and beside the run: enough for another
// process, on another machine, to go on with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cloud/tpu_api.h"

namespace smelt {

// Of the machine: how it is asked for; of the job: what it does and when it ends.
struct JobSpec {
  std::string run;  // its id: the machine's name is machine_name(), its label smelt-run
  std::string project;
  struct Zone {
    std::string name;
    double dollars_an_hour = 0;
  };
  std::vector<Zone> zones;  // tried in this order
  NodeSpec node;
  bool queued = false;
  std::string folder;                   // of the bucket: journal and run
  std::string user;                     // who signs in to the machine
  std::string command;                  // what its workers run
  std::string package, package_sha256;  // a file where the job was begun, and in the bucket
  std::string setup;            // a device whose plugin `smelt setup` brings there; "" = none
  double budget = 0;            // US dollars, of all its machines
  double until = 0;             // seconds since 1970; 0 = no end
  int attempts = 5;             // starts in a row without a new checkpoint, then it is given up
  double silence = 3600;        // seconds without a supervisor until the machine deletes itself
  double patience = 24 * 3600;  // seconds without a machine until it is given up
  double turn = 2 * 3600;       // seconds in a zone's queue until the next zone is asked
};

enum class JobStep { stage, machine, install, train, stop, clean, collect, ended };

// One machine that was asked for, and what is paid for it.
struct JobMachine {
  std::string zone, operation;  // "": none is known
  double dollars_an_hour = 0;
  double asked = 0;      // seconds since 1970; or when it last stood in the queue
  double paid_from = 0;  // 0: it stands in the queue, for nothing
  double gone = 0;       // 0: it may be there
  double deadline = 0;   // when it deletes itself
  double seen = 0;       // when it was last there
  bool shown = false;    // it was seen, as a node or in the queue
  bool stays = false;    // its account may not delete it
};

struct JobJournal {
  JobSpec spec;
  JobStep step = JobStep::stage;
  std::string owner;                     // the process that leads the job
  std::vector<JobMachine> machines;      // at most the last is there
  std::size_t zone = 0;                  // the next to be asked
  double not_before = 0;                 // when, after all of them had none
  std::optional<std::int64_t> progress;  // the newest checkpoint that was seen
  int starts = 0, fruitless = 0;         // of the command; since that checkpoint
  int refusals = 0;                      // rounds through all zones without a machine
  double stop_since = 0;                 // when the command was told to end
  std::vector<std::uint64_t> log_end;    // bytes of each worker's output that were shown
  std::string outcome;  // "done", "budget", "until", "failed", "asked"; "" = none yet
  std::string why;

  JobMachine* there() { return has_machine() ? &machines.back() : nullptr; }
  const JobMachine* there() const { return has_machine() ? &machines.back() : nullptr; }

 private:
  bool has_machine() const { return !machines.empty() && machines.back().gone == 0; }
};

std::string machine_name(const JobSpec& spec);
const char* word_of(JobStep step);

// Until when a machine is paid for, at most: until it is gone, which it is by itself, if it may be,
// ten minutes after its deadline, or was seen to be there later.
double paid_until(const JobMachine& machine, double now);

// What was paid for all machines until now, by the prices that are known.
double dollars_so_far(const JobJournal& journal, double now);

// Until the machine that is there deletes itself, unless it hears of a supervisor: its silence, or
// what is left of money and time but for what saving and deleting take. A silence of at least so
// many seconds.
double seconds_left(const JobJournal& journal, double now, double at_least = 0);

OrderedJson json_of(const JobJournal& journal);
// UsageError beginning with `where` for what is no journal.
JobJournal parse_journal(const std::string& text, const std::string& where);

// Where it is kept.
class JobStore {
 public:
  virtual ~JobStore() = default;
  virtual std::optional<std::string> read() = 0;
  // Whole or not at all. False, and nothing is written, where another owner than that of `text` has
  // written since it was last read or written here.
  virtual bool write(const std::string& text) = 0;
};

inline constexpr const char* kJournalName = "cloud-job.json";
inline constexpr const char* kRunLabel = "smelt-run";

}  // namespace smelt
