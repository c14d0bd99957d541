// A training job on Google Cloud. It creates a machine, runs a command on it that stores
// checkpoints in a bucket, replaces the machine if it is preempted, and deletes everything at the
// end. Each step (JobStep) first checks the actual state, so a process may be killed at any time
// and another can continue, without leaving a machine behind or creating a second one.
#pragma once

#include "cloud/job_machines.h"

namespace smelt::cloud {

// Operations on all workers of the machine. They throw SystemError if a worker cannot be reached or
// a command fails, and UsageError if a retry cannot help.
class JobWorkers {
 public:
  // The state of the command on the workers.
  struct Look {
    // With several workers, the first of these states that any worker has.
    enum class State { none, running, ended } state = State::none;
    // 0 if no worker failed; 2 if any worker ended with 2; else the lowest nonzero exit status
    int status = 0;
    std::string log;                          // output after the requested offsets
    std::vector<std::uint64_t> log_end = {};  // new offset of each worker, in bytes
  };
  // Limits for the next part of an installation: the maximum seconds that the part may take, and
  // the seconds after which the machine deletes itself unless the timer is reset. install() calls
  // NextPart before each part; `wanted` is the maximum number of seconds that the part needs.
  struct Part {
    double at_most = 0, seconds_left = 0;
  };
  using NextPart = std::function<Part(double wanted)>;
  virtual ~JobWorkers() = default;
  // Installs the package, if it is missing, and the guard that deletes the machine. Throws
  // SystemError if a part exceeds its time.
  virtual void install(const TpuNode& node, const NextPart& next) = 0;
  // Returns whether the machine's service account may delete it; nullopt if unknown.
  virtual std::optional<bool> may_delete_itself(const TpuNode& node) = 0;
  // Starts the command on all workers.
  virtual void start(const TpuNode& node, const std::string& command) = 0;
  // Returns the state and new output. Resets the machine's self-deletion timer to `seconds_left`.
  virtual Look look(const TpuNode& node, double seconds_left,
                    const std::vector<std::uint64_t>& log_from) = 0;
  // Asks the command to save a checkpoint and end (TERM). look() shows when it has ended.
  virtual void stop(const TpuNode& node) = 0;
  // Copies the output to the job's folder in the bucket, so that it remains available without the
  // machine.
  virtual void keep_log(const TpuNode& node) = 0;
};

// Time limits of a job in seconds.
struct JobTimes {
  double poll = 30;
  double closing = 420;       // reserved for a last checkpoint and the deletion
  double stop_at_most = 150;  // part of `closing`: maximum wait for the command to end
  double useful = 600;        // do not create a machine that could run for less than this
  // replace a machine that cannot be reached, or whose installation fails, after this time
  double useless = 600;
  double apart = 300;        // failures further apart than this count separately
  double closing_poll = 15;  // maximum of `poll` while the job ends
};

// The environment of a job.
struct JobEnvironment {
  TpuApi& tpu;
  JobWorkers& workers;
  JobStore& store;
  std::string owner;                 // unique id of this process
  std::function<double()> now = {};  // seconds since 1970
  std::function<void(double seconds)> wait = {};
  std::function<void(const std::string& line)> tell = {};  // prints a status line
  std::function<void(const std::string& text)> log = {};   // prints output of the command
  StartupScript startup = {};
  // Copies data to the bucket. Calls `require_lead`, which throws if another process has taken over
  // the job, before it changes what is in the bucket.
  std::function<void(const std::function<void()>& require_lead)> stage = {};
  // Copies the results from the bucket.
  std::function<void()> fetch = {};
  std::function<std::optional<std::int64_t>()> newest_checkpoint = {};
  JobTimes times = {};
};

// The number of seconds after which a job must begin to end (0 or less: now), so that it can still
// save a checkpoint and delete the machine. `reason` is the limit that applies, "budget" or
// "until".
struct JobDeadline {
  double seconds = 0;
  const char* reason = "";
};
JobDeadline time_to_close(const JobJournal& journal, const JobTimes& times, double now);

// Thrown if another process has taken over the job.
class JobTakenOver : public Stopped {
  using Stopped::Stopped;
};

// Makes `owner` the leader of the job and returns the journal that was written. `from` makes the
// new journal from the stored one (nullopt if none is stored). It is called again if
// another process writes the journal meanwhile. Throws JobTakenOver if that happens repeatedly.
JobJournal take_lead(JobStore& store, const std::string& owner, const std::function<double()>& now,
                     const std::function<JobJournal(const std::optional<std::string>& kept)>& from);

// Runs a job as its leader.
class Job {
 public:
  // `journal` is the result of take_lead().
  Job(JobJournal journal, JobEnvironment world);

  // Leads the job until it has ended. Throws JobTakenOver, exceptions of wait() (the job then
  // continues without a leader), and errors of staging and fetching.
  const JobJournal& run();
  // Requests that the job save a checkpoint and end. Call it before run().
  void end(const std::string& outcome, const std::string& why);
  const JobJournal& journal() const { return journal_; }

 private:
  void tick();
  void stage();
  void machine();
  void install();
  void train();
  void stop();
  void clean();
  void collect();

  void require_lead();
  [[noreturn]] void throw_taken_over(const std::string& owner) const;
  void close_in_time();
  void start_command(const TpuNode& node);
  void take_log(const JobWorkers::Look& look);
  void take_progress();
  void take_end(const TpuNode& node, int status);
  void drop_strays();
  void lost(const std::string& what);
  void useless(const std::string& why);
  bool is_given_up(const std::string& why);
  JobWorkers::Part next_part(double wanted);
  void judge_switch(const TpuNode& node);
  void unheard(const std::string& why);
  void rest_of_log(const TpuNode& node);
  void keep_log(const TpuNode& node);
  void fail(const std::string& why) { end("failed", why); }
  void go(JobStep step);
  void save();
  void tell(const std::string& line);
  void report_error(const std::string& text);

  JobJournal journal_;
  JobEnvironment world_;
  JobMachines machines_;
  std::string written_;  // the journal as last written
  std::string told_;     // the last error message, which is not repeated
  double began_ = 0;     // start time of the current step
  double useless_since_ = 0, failed_at_ = 0;
  // seconds spent looking for a machine; time of the last count
  double sought_ = 0, sought_at_ = 0;
  bool was_reached_ = false;  // whether this process has reached this machine
  double told_at_ = 0;
  double strays_at_ = 0;  // time of the last look for machines in other zones
  bool was_told_to_stop_ = false;
};

// smelt's exit status for an error that the user has to correct.
inline constexpr int kUserError = 2;

}  // namespace smelt::cloud
