// A job at Google: a machine is made, a command trains on it with its checkpoints in a bucket, the
// machine is replaced when it is taken away, and all that was made is deleted. One step after
// another (JobStep), each of which looks at what there is before it does something, so that a
// process that is killed at any instant, and another that goes on, neither leave a machine behind
// nor make a second one.
#pragma once

#include "cloud/job_machines.h"

namespace smelt {

// What is done on the machine, on all of its workers. Each throws a SystemError while it is not
// reached or what is done there ends badly, and a UsageError for what another try does not mend.
class JobWorkers {
 public:
  struct Look {
    // Of several workers the first that is so of one.
    enum class State { none, running, ended } state = State::none;
    int status = 0;   // 0 until one has ended otherwise; of several such 2, else the lowest
    std::string log;  // what they printed behind the bytes that were asked for
    std::vector<std::uint64_t> log_end = {};  // the bytes behind that, of each worker
  };
  // Of an installation, which is asked for before each: what it may take, of the seconds that it
  // wants, and after how many the machine deletes itself, unless it is told anew.
  struct Part {
    double at_most = 0, seconds_left = 0;
  };
  using NextPart = std::function<Part(double wanted)>;
  virtual ~JobWorkers() = default;
  // The package, where it is not there yet, and what deletes the machine by itself. SystemError
  // where a part is not done in its time.
  virtual void install(const TpuNode& node, const NextPart& next) = 0;
  // Whether its own account may delete the machine; nothing where that is not known.
  virtual std::optional<bool> may_delete_itself(const TpuNode& node) = 0;
  virtual void start(const TpuNode& node, const std::string& command) = 0;
  // It is told so anew.
  virtual Look look(const TpuNode& node, double seconds_left,
                    const std::vector<std::uint64_t>& log_from) = 0;
  // They are told to end (TERM), and save a checkpoint; look() says when it has.
  virtual void stop(const TpuNode& node) = 0;
  // What they printed goes to the job's folder in the bucket, for whoever comes when the machine is
  // gone.
  virtual void keep_log(const TpuNode& node) = 0;
};

// Seconds.
struct JobTimes {
  double poll = 30;
  double closing = 420;       // kept for a last checkpoint and the deletion
  double stop_at_most = 150;  // of them, until the command has ended
  double useful = 600;        // a machine that could not run for longer is not made
  double useless = 600;       // of a machine that is there and not reached, or whose installation
                              // fails; then it is replaced
  double apart = 300;         // failures that lie further apart have nothing to do with each other
  double closing_poll = 15;   // at most, while it is being ended
};

// What a job needs of the world besides Google's TPU API.
struct JobWorld {
  TpuApi& tpu;
  JobWorkers& workers;
  JobStore& store;
  std::string owner;                 // this process, different from any other
  std::function<double()> now = {};  // seconds since 1970
  std::function<void(double seconds)> wait = {};
  std::function<void(const std::string& line)> tell = {};
  std::function<void(const std::string& text)> log = {};  // what the command prints
  StartupScript startup = {};
  // Data to the bucket, which asks whether it still leads before what another's data would be lost
  // by; results from it.
  std::function<void(const std::function<void()>& require_lead)> stage = {};
  std::function<void()> fetch = {};
  std::function<std::optional<std::int64_t>()> newest_checkpoint = {};
  JobTimes times = {};
};

// How long until a job has to be ended, as what is left then goes by with saving and deleting; 0 or
// less: now. And which of its ends that is, "budget" or "until".
struct JobClosing {
  double seconds = 0;
  const char* reason = "";
};
JobClosing time_to_close(const JobJournal& journal, const JobTimes& times, double now);

// Another process leads the job now.
class TakenOver : public Stopped {
  using Stopped::Stopped;
};

// Makes `owner` the one who leads the job, as the journal says from now on: what `from` makes of
// the one that the store has, or of none; asked again where another process writes it meanwhile.
JobJournal take_lead(JobStore& store, const std::string& owner, const std::function<double()>& now,
                     const std::function<JobJournal(const std::optional<std::string>& kept)>& from);

class Job {
 public:
  // Of take_lead().
  Job(JobJournal journal, JobWorld world);

  // Leads the job until it has ended. TakenOver by another process, and what
  // wait() throws: the job is not ended by that. Errors of staging and fetching.
  const JobJournal& run();
  // It is to end, with a checkpoint; before run().
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
  void tell_error(const std::string& text);

  JobJournal journal_;
  JobWorld world_;
  JobMachines machines_;
  std::string written_;  // the journal as it was last written
  std::string told_;     // the last error, which is not told twice
  double began_ = 0;     // what is done now
  double useless_since_ = 0, failed_at_ = 0;
  double sought_ = 0, sought_at_ = 0;  // seconds without a machine; when it was last counted
  bool was_reached_ = false;           // this machine, by this process
  double told_at_ = 0;
  double strays_at_ = 0;  // when other zones were last looked at while it trains
  bool was_told_to_stop_ = false;
};

// The command's exit statuses, as smelt's own are.
inline constexpr int kUsersToMend = 2;

}  // namespace smelt
