// A simulated job whose random events follow from a seed: the fake TPU API with faults, a clock
// that the test advances, a worker that trains by that clock, and supervisors that are killed.
#pragma once

#include <memory>
#include <random>

#include "cloud/fake_tpu.h"
#include "cloud/google_stand_in.h"
#include "cloud/job.h"

namespace smelt::cloud {

// Thrown where the simulated supervisor is killed.
struct Killed {};

// The probabilities and times of a scenario's faults.
struct ScenarioRules {
  double faults = 0;       // fraction of API requests with a fault
  double kills = 0;        // probability of a kill at each point where a supervisor may be killed
  double preempted = 0;    // probability per second that a READY machine is preempted
  double unreached = 0;    // fraction of connections to the worker that fail
  double no_capacity = 0;  // fraction of the time in which a zone has no capacity
  bool abandoned = false;  // no supervisor is started after the first kill
  bool powerless = false;  // the machine's service account may not delete it
  bool uninstallable = false, unstartable = false;
  double locked_out_at = 0;   // seconds after the start when ssh stops accepting keys; 0: never
  double locked_until = 0;    // seconds after the start until the user's key is unlocked
  double install_takes = 60;  // seconds for each of the two parts of an installation
  // Faults of real servers and networks.
  double outages = 0;  // probability per second that the supervisor loses its network for 3 minutes
  double failing = 0;  // fraction of node creations that end with UNKNOWN or CANCELLED
  double busy = 0;     // fraction of metadata changes that are refused
};

inline constexpr double kBegin = 1.8e9;  // seconds since 1970

class JobScenario : private JobWorkers {
 public:
  JobScenario(unsigned seed, GoogleStandIn& google);

  FakeTpu& google() { return fake_; }
  // Runs supervisors one after another until the job has ended, or, if `abandoned`, until the first
  // kill.
  void run();

  JobSpec spec;
  ScenarioRules rules;
  double total = 4000, save_every = 300;  // in steps of one second each
  // A second supervisor takes over at the `rival_at`-th point where the first may be killed (0:
  // never). It is killed at the `rival_lasts`-th such point of its own; then the first continues.
  int rival_at = 0, rival_lasts = 0;
  JobTimes times;
  int crashes_with = 0;  // exit status with which the command crashes at its first step; 0: never
  // If `away` is not 0, the supervisor is killed `leaves_at` seconds after the start, and the next
  // one starts `away` seconds later.
  double leaves_at = 0, away = 0;
  bool sleeps = false;  // suspend the supervisor for `away` seconds instead of killing it

  // Results of run().
  std::string outcome, why;
  double seconds = 0;          // simulated duration of the job
  double dollars = 0;          // cost that Google would bill
  double journal_dollars = 0;  // cost according to the journal
  double checkpoint = 0;
  int kills = 0, preemptions = 0, machines = 0, requests = 0, taken_over = 0, outages = 0;
  std::vector<std::string> faults_found;  // errors of the supervisor; must stay empty
  std::string told, printed;

 private:
  struct Worker {
    double steps = 0, deadline = 0, stops_at = 0;
    std::string state, log = {};
    double changes_at = 0;  // when its creation or deletion ends; 0: neither is in progress
    bool ready = false, runs = false, ended = false, is_log_kept = false;
    int status = 0;
  };
  void install(const TpuNode& node, const NextPart& next) override;
  std::optional<bool> may_delete_itself(const TpuNode&) override { return !rules.powerless; }
  void start(const TpuNode& node, const std::string& command) override;
  Look look(const TpuNode& node, double seconds_left,
            const std::vector<std::uint64_t>& log_from) override;
  void stop(const TpuNode& node) override;
  void keep_log(const TpuNode& node) override;
  // One supervisor's access to the journal object that all supervisors share.
  class Store : public JobStore {
   public:
    explicit Store(JobScenario& world) : world_(world) {}
    std::optional<std::string> read() override;
    bool write(const std::string& text) override;

   private:
    JobScenario& world_;
    int generation_ = 0;
  };

  bool chance(double share) { return std::uniform_real_distribution<>(0, 1)(draw_) < share; }
  void supervise();
  void stage(const std::function<void()>& require_lead);
  void lead(JobEnvironment& world);
  void may_kill();
  void meet_rival();
  ServedAnswer serve(const ServedRequest& request);
  ServedAnswer serve_at_fault(const ServedRequest& request);
  void check_deletion(const ServedRequest& request);
  void draw_refusals(const ServedRequest& request);
  bool is_out() const { return now_ < out_until_; }
  void push_key_to(const TpuNode& node);
  void pass(double seconds);
  void pass_piece(double seconds);
  void work(Worker& worker, double seconds);
  void take_states();
  void take_state(const std::string& name, const std::string& state);
  void found(const std::string& what) { faults_found.push_back(what); }
  Worker& reach(const TpuNode& node);

  std::mt19937 draw_;
  double now_ = kBegin, out_until_ = 0;
  bool killed_ = false, is_rival_ = false, had_rival_ = false;
  std::optional<std::string> journal_;
  int generation_ = 0, jobs_ = 0, taken_ = 0;  // taken_: how often a supervisor became the leader
  std::map<std::string, std::string> states_;
  std::map<std::string, Worker> workers_;  // by "zone/name"
  FakeTpu fake_;
  TpuApi* tpu_ = nullptr;  // the API client of the active supervisor
  GoogleStandIn& google_;
  HttpServer server_{[this](const ServedRequest& request) { return serve(request); }};
};

}  // namespace smelt::cloud
