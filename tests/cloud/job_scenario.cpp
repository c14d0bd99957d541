#include "cloud/job_scenario.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "cloud/ssh.h"

namespace smelt::cloud {
namespace {

constexpr double kPiece = 5;            // longest time step, in seconds
constexpr std::size_t kMostLog = 1000;  // maximum bytes of output per look()
constexpr double kSaves = 20, kGuardSaves = 60;

double uniform(std::mt19937& draw, double from, double to) {
  return std::uniform_real_distribution<>(from, to)(draw);
}

}  // namespace

JobScenario::JobScenario(unsigned seed, GoogleStandIn& google) : draw_(seed), google_(google) {
  spec.run = str("r", seed);
  spec.project = "p";
  spec.node = {"v3-8", "tpu-ubuntu2204-base", true};
  spec.folder = "gs://bucket/run";
  spec.command = "train";
  const char* zones[] = {"us-central1-a", "us-central1-b", "europe-west4-a"};
  for (int i = 0; i < 1 + static_cast<int>(seed % 3); ++i) spec.zones.push_back({zones[i], 2.4});
  spec.budget = 50;
  fake_.completes_unasked = true;
  fake_.page = 100;
  fake_.hidden_looks = static_cast<int>(draw_() % 4);
  fake_.seconds = now_;
  fake_.node_looks = 1000;  // nodes change by time (Worker::changes_at), not by requests
}

void JobScenario::meet_rival() {
  if (is_rival_ && --rival_lasts <= 0) killed_ = true;
  if (is_rival_ || rival_at == 0 || --rival_at > 0) return;
  is_rival_ = had_rival_ = true;
  told += str(now_ - kBegin, " A RIVAL\n");
  TpuApi* const own = tpu_;
  try {
    supervise();
  } catch (const Killed&) {
    killed_ = false;
  } catch (const SystemError&) {  // the rival could reach nothing and gave up
  }
  told += str(now_ - kBegin, " THE FIRST AGAIN\n");
  is_rival_ = false;
  tpu_ = own;
}

void JobScenario::may_kill() {
  meet_rival();
  const bool is_out = away > 0 && now_ >= kBegin + leaves_at;
  const bool leaves = is_out && !sleeps;
  if (is_out && sleeps) pass(std::exchange(away, 0));
  if (killed_ || leaves || chance(rules.kills)) {
    killed_ = true;
    throw Killed();
  }
}

void JobScenario::take_state(const std::string& name, const std::string& state) {
  Worker& worker = workers_[name];
  if (worker.state == state) return;
  worker = {.state = state, .ready = state == "READY"};
  if (state == "CREATING") worker.changes_at = now_ + uniform(draw_, 20, 200);
  if (state == "DELETING") worker.changes_at = now_ + uniform(draw_, 5, 100);
  if (!worker.ready) return;
  ++machines;
  // The dead man's switch runs from the machine's start.
  const std::string script = fake_.node(name).at("metadata").at("startup-script");
  worker.deadline = now_ + std::stod(script);
}

// Updates the workers from the API, which shows a preemption or self-deletion at once.
void JobScenario::take_states() {
  states_ = fake_.states();
  int alive = 0;
  for (const auto& [name, state] : states_) {
    if (state == "CREATING" || state == "READY") ++alive;
    take_state(name, state);
  }
  std::erase_if(workers_, [&](const auto& each) { return !states_.contains(each.first); });
  if (alive > 1) found(str(alive, " machines at once"));
}

void JobScenario::work(Worker& worker, double seconds) {
  if (!worker.runs) return;
  if (crashes_with != 0) {
    worker.runs = false;
    worker.ended = true;
    worker.status = crashes_with;
    return;
  }
  worker.steps = std::min(total, worker.steps + seconds);
  const double saved = std::floor(worker.steps / save_every) * save_every;
  checkpoint = std::max(checkpoint, worker.steps >= total ? total : saved);
  const bool stopped = worker.stops_at > 0 && now_ >= worker.stops_at;
  if (!stopped && worker.steps < total) return;
  worker.runs = false;
  worker.ended = true;
  worker.log += std::string(5 * kMostLog, '.') + "its last word\n";
  worker.status = worker.steps >= total ? 0 : 75;
  checkpoint = std::max(checkpoint, worker.steps);
}

void JobScenario::pass_piece(double seconds) {
  constexpr double kOutage = 180;  // seconds
  if (rules.outages > 0 && !is_out() && chance(rules.outages * seconds)) {
    out_until_ = now_ + kOutage;
    ++outages;
    told += str(now_ - kBegin, " NOTHING IS REACHED\n");
  }
  now_ += seconds;
  fake_.seconds += seconds;
  bool changed = false;
  for (auto& [name, worker] : workers_) {
    const std::string state = states_.at(name);
    if (state != "PREEMPTED") dollars += seconds / 3600 * spec.zones.front().dollars_an_hour;
    if (worker.changes_at > 0 && now_ >= worker.changes_at) {
      fake_.finish(name);
      changed = true;
    }
    if (!worker.ready) continue;
    work(worker, seconds);
    const std::string node = name.substr(name.find('/') + 1);
    if (now_ >= worker.deadline && worker.stops_at == 0) worker.stops_at = now_ + kSaves;
    if (!rules.powerless && now_ >= worker.deadline + kGuardSaves) {
      fake_.vanish(node);
      changed = true;
    } else if (chance(rules.preempted * seconds)) {
      fake_.preempt(node);
      ++preemptions;
      changed = true;
    }
  }
  if (changed) take_states();
}

void JobScenario::pass(double seconds) {
  for (auto& [name, zone] : fake_.zones) zone.capacity = chance(rules.no_capacity) ? 0 : 100;
  for (; seconds > kPiece; seconds -= kPiece) pass_piece(kPiece);
  pass_piece(seconds);
}

// Records an error if a machine is deleted before its command was told to stop, or before the log
// of an ended command was kept.
void JobScenario::check_deletion(const ServedRequest& request) {
  if (request.method != "DELETE" || rules.unreached > 0) return;
  for (const auto& [name, worker] : workers_) {
    if (worker.runs && worker.stops_at == 0)
      found("deleted while it trains, without being told to stop");
    if (worker.ended && !worker.is_log_kept) found("deleted with the log of what has ended");
  }
}

// Decides at random whether the fake API makes this request fail.
void JobScenario::draw_refusals(const ServedRequest& request) {
  fake_.operation_errors.clear();
  fake_.change_faults.clear();
  if (request.method == "POST" && rules.failing > 0 && chance(rules.failing)) {
    const int code = draw_() % 2 == 0 ? 1 : 2;
    fake_.operation_errors.push_back({{"code", code}, {"message", "An unknown error happened"}});
  }
  if (request.method == "PATCH" && rules.busy > 0 && chance(rules.busy)) {
    const char* code = draw_() % 4 == 0 ? "OUT_OF_RANGE" : "FAILED_PRECONDITION";
    const Json error{{"status", code}, {"message", "another operation is in progress"}};
    fake_.change_faults.push_back({400, Json{{"error", error}}.dump()});
  }
}

ServedAnswer JobScenario::serve_at_fault(const ServedRequest& request) {
  switch (draw_() % 6) {
    case 0:
      return {429, R"({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message":
                     "Quota exceeded for requests per minute"}})"};
    case 1:
      return {503, R"({"error": {"code": 503, "message": "unavailable"}})"};
    case 2:
      return {.hangs_up = true};
    case 3:  // the request is executed, but gets no response
      check_deletion(request);
      fake_.serve(request);
      return {.hangs_up = true};
    case 4:
      check_deletion(request);
      fake_.serve(request);
      return {502, "<html>bad gateway</html>"};
    default:
      pass(20);
      check_deletion(request);
      return fake_.serve(request);
  }
}

ServedAnswer JobScenario::serve(const ServedRequest& request) {
  ++requests;
  pass(0.2);
  if (killed_ || chance(rules.kills / 4)) {
    killed_ = true;
    if (draw_() % 2 == 0) fake_.serve(request);
    take_states();
    return {.hangs_up = true};
  }
  if (is_out()) return {.hangs_up = true};
  draw_refusals(request);
  ServedAnswer answer;
  if (chance(rules.faults)) {
    answer = serve_at_fault(request);
  } else {
    check_deletion(request);
    answer = fake_.serve(request);
  }
  take_states();
  return answer;
}

JobScenario::Worker& JobScenario::reach(const TpuNode& node) {
  may_kill();
  pass(1);
  if (rules.locked_out_at > 0 && now_ >= kBegin + rules.locked_out_at)
    throw UsageError("its public key is missing");
  if (now_ < kBegin + rules.locked_until)
    throw io::CredentialsRefused("this key has a passphrase", "ssh-add");
  if (is_out()) throw SystemError("ssh: connect to host: Network is unreachable");
  if (chance(rules.unreached)) throw SystemError("ssh: connect to host: Connection timed out");
  const auto found = workers_.find(str(node.zone, "/", node.name));
  if (found == workers_.end() || !found->second.ready) throw SystemError("the connection broke");
  return found->second;
}

// Pushes the user's key like open_ssh().
void JobScenario::push_key_to(const TpuNode& node) {
  const Patience patience{[this](std::chrono::milliseconds time) {
                            may_kill();
                            pass(std::chrono::duration<double>(time).count());
                          },
                          [](const std::string&) {}, std::chrono::minutes(2)};
  push_key(*tpu_, "p", node, "me", "ssh-ed25519 AAAA", patience);
}

void JobScenario::install(const TpuNode& node, const NextPart& next) {
  push_key_to(node);
  for (int i = 0; i < 2; ++i) {
    const Part part = next(1800);
    reach(node).deadline = now_ + part.seconds_left;
    pass(std::min(rules.install_takes, part.at_most));
    if (rules.install_takes > part.at_most) throw SystemError("no answer in time");
  }
  if (rules.uninstallable) throw SystemError("smelt setup tpu: no route");
  if (!workers_.contains(str(node.zone, "/", node.name))) throw SystemError("the connection broke");
}

void JobScenario::start(const TpuNode& node, const std::string&) {
  Worker& worker = reach(node);
  if (worker.runs && had_rival_) return;  // like start_job(), which starts no second command
  if (worker.runs) found("started twice");
  if (rules.unstartable) throw SystemError("mkdir: No space left on device");
  worker.runs = true;
  worker.ended = worker.is_log_kept = false;
  worker.stops_at = 0;
  worker.log.clear();
  worker.steps = checkpoint;
  may_kill();
}

JobWorkers::Look JobScenario::look(const TpuNode& node, double seconds_left,
                                   const std::vector<std::uint64_t>& log_from) {
  Worker& worker = reach(node);
  worker.deadline = now_ + seconds_left;
  Look out;
  using State = Look::State;
  out.state = worker.runs ? State::running : worker.ended ? State::ended : State::none;
  out.status = worker.status;
  const std::size_t from = log_from.empty() ? 0 : log_from.front();
  if (from < worker.log.size()) out.log = worker.log.substr(from, kMostLog);
  out.log_end = {from + out.log.size()};
  return out;
}

void JobScenario::stop(const TpuNode& node) {
  Worker& worker = reach(node);
  if (worker.stops_at == 0) worker.stops_at = now_ + kSaves;
}

void JobScenario::keep_log(const TpuNode& node) { reach(node).is_log_kept = true; }

std::optional<std::string> JobScenario::Store::read() {
  world_.may_kill();
  if (world_.is_out()) throw SystemError("gs://bucket/run: no answer");
  generation_ = world_.generation_;
  return world_.journal_;
}

bool JobScenario::Store::write(const std::string& text) {
  world_.may_kill();
  if (world_.is_out()) throw SystemError("gs://bucket/run: no answer");
  if (generation_ != world_.generation_) return false;
  world_.journal_ = text;
  generation_ = ++world_.generation_;
  world_.may_kill();
  return true;
}

void JobScenario::supervise() {
  io::HttpOptions options;
  options.retry.tries = 3;
  options.wait = [this](std::chrono::milliseconds) {
    if (killed_) throw Killed();
    pass(2);  // without the random jitter, so that each seed gives one scenario
  };
  const ScopedVariable url("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", server_.url(""));
  GoogleApi api(TokenSource(io::google_credentials()), options);
  TpuApi tpu(api, "p");
  tpu_ = &tpu;
  Store store(*this);
  JobEnvironment world{
      tpu,
      *this,
      store,
      str("supervisor ", kills, is_rival_ ? ", a rival" : ""),
      [this] { return now_; },
      [this](double seconds) {
        may_kill();
        pass(seconds);
      },
      [this](const std::string& line) { told += str(now_ - kBegin, " ", line, "\n"); },
      [this](const std::string& text) { printed += text; },
      [](const std::string&, double seconds) { return std::to_string(seconds); },
      [this](const auto& require_lead) { stage(require_lead); },
      [] {},
      [this]() -> std::optional<std::int64_t> {
        if (is_out()) throw SystemError("gs://bucket/run: no answer");
        if (checkpoint == 0) return std::nullopt;
        return static_cast<std::int64_t>(checkpoint);
      }};
  lead(world);
}

void JobScenario::stage(const std::function<void()>& require_lead) {
  const int before = taken_;
  may_kill();
  require_lead();
  if (taken_ != before) found("it stages over the data of whoever took over");
}

void JobScenario::lead(JobEnvironment& world) {
  world.times = times;
  const auto from = [this](const std::optional<std::string>& kept) {
    if (kept) return parse_journal(*kept, "journal");
    JobJournal journal;
    journal.spec = spec;
    journal.spec.run += str("-", ++jobs_);  // a supervisor that finds no journal begins a new run
    return journal;
  };
  Job job(take_lead(world.store, world.owner, world.now, from), world);
  ++taken_;
  outcome = job.run().outcome;
  why = job.journal().why;
  journal_dollars = dollars_so_far(job.journal(), now_);
}

void JobScenario::run() {
  for (int round = 0; outcome.empty() && round < 200; ++round) {
    killed_ = false;
    try {
      supervise();
    } catch (const JobTakenOver&) {
      ++taken_over;
      told += str(now_ - kBegin, " TAKEN OVER\n");
    } catch (const SystemError& error) {  // staging or fetching failed: run the command again
      told += str(now_ - kBegin, " GIVEN UP: ", error.what(), "\n");
      pass(uniform(draw_, 10, 300));
    } catch (const Killed&) {
      ++kills;
      told += str(now_ - kBegin, " KILLED\n");
      if (rules.abandoned) {
        outcome = "abandoned";
        pass(spec.silence + 3600);
      } else if (away > 0) {
        pass(std::exchange(away, 0));
      } else {
        pass(chance(0.7) ? uniform(draw_, 1, 300) : uniform(draw_, 300, 3 * 3600));
      }
    }
  }
  seconds = now_ - kBegin;
  for (const auto& [name, state] : fake_.states())
    if (!rules.abandoned || state != "PREEMPTED") found(str("left behind: ", name, ", ", state));
  if (!rules.abandoned && fake_.queue_length() > 0) found("left in the queue");
  const double poll = JobTimes().poll;
  if (dollars > spec.budget + spec.zones.front().dollars_an_hour * poll / 3600)
    found(str("dollars: ", dollars, " of ", spec.budget));
  constexpr double kCents = 0.05;  // cost of a machine from the last look at it until it vanished
  if (!rules.abandoned && journal_dollars + kCents < dollars)
    found(str("the journal knows of ", journal_dollars, " dollars, Google asks for ", dollars));
  if (outcome == "done" && checkpoint < total) found(str("done at step ", checkpoint));
  if (outcome.empty()) found("it has no end");
}

}  // namespace smelt::cloud
