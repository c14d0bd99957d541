// A job in a world that a seed makes: the fake TPU API with faults, a clock that a test moves, a
// worker that trains by that clock, and supervisors that are killed.
#pragma once

#include <memory>
#include <random>

#include "cloud/fake_tpu.h"
#include "cloud/google_stand_in.h"
#include "cloud/job.h"

namespace smelt::cloud {

// The supervisor's end at some instant.
struct Killed {};

// What is drawn of a seed.
struct ScenarioRules {
  double faults = 0;       // share of the API's answers
  double kills = 0;        // share of the instants at which a supervisor may be killed
  double preempted = 0;    // a second, of a machine that is READY
  double unreached = 0;    // share of the looks at the worker
  double no_capacity = 0;  // share of time in which a zone has none
  bool abandoned = false;  // after the first kill nobody comes back
  bool powerless = false;  // the machine's account may not delete it
  bool uninstallable = false, unstartable = false;
  double locked_out_at = 0;   // seconds from the begin: no key opens the worker then; 0 = never
  double locked_until = 0;    // seconds from the begin: the user's key is locked; 0 = never
  double install_takes = 60;  // seconds, each of its two parts
  // Of real servers and networks.
  double outages =
      0;  // a second: for three minutes nothing is reached from where the supervisor is
  double failing = 0;  // share of the nodes whose operation ends with UNKNOWN or CANCELLED
  double busy = 0;     // share of the changes of metadata that are refused
};

inline constexpr double kBegin = 1.8e9;  // seconds since 1970

class JobScenario : private JobWorkers {
 public:
  JobScenario(unsigned seed, GoogleStandIn& google);

  FakeTpu& google() { return fake_; }
  // Supervisors one after another until the job has ended, or nobody comes back.
  void run();

  JobSpec spec;
  ScenarioRules rules;
  double total = 4000, save_every = 300;  // steps; one takes a second
  // A second supervisor takes over at the so many'th instant of the first, is killed at a later one
  // of its own, and the first goes on as if nothing had been. 0 = never.
  int rival_at = 0, rival_lasts = 0;
  JobTimes times;
  int crashes_with = 0;  // the command, at its first step
  // Seconds from the begin, until when the supervisor is killed; for which nobody comes then. 0 =
  // not.
  double leaves_at = 0, away = 0;
  bool sleeps = false;  // and goes on then, instead

  // What came of it.
  std::string outcome, why;
  double seconds = 0;          // that it took
  double dollars = 0;          // that Google would ask for
  double journal_dollars = 0;  // that the job knows of
  double checkpoint = 0;
  int kills = 0, preemptions = 0, machines = 0, requests = 0, taken_over = 0, outages = 0;
  std::vector<std::string> faults_found;  // of the supervisor; none is right
  std::string told, printed;

 private:
  struct Worker {
    double steps = 0, deadline = 0, stops_at = 0;
    std::string state, log = {};
    double changes_at = 0;  // being made, or deleted, until then
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
  // Each supervisor's view of the one object.
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
  int generation_ = 0, jobs_ = 0, taken_ = 0;  // how often somebody took the lead
  std::map<std::string, std::string> states_;
  std::map<std::string, Worker> workers_;  // by "zone/name"
  FakeTpu fake_;
  TpuApi* tpu_ = nullptr;  // of the supervisor that acts
  GoogleStandIn& google_;
  HttpServer server_{[this](const ServedRequest& request) { return serve(request); }};
};

}  // namespace smelt::cloud
