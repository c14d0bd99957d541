#include "cloud/job.h"

#include <algorithm>

#include "base/error.h"
#include "base/number_format.h"
#include "cloud/google_api.h"
#include "io/credentials/credential_file.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

constexpr double kTellEvery = 600;  // seconds

std::string dollars_text(double value) { return "$" + rounded(value, 2); }

// Returns the journal as text. Replaces invalid UTF-8, which the output of programs may contain.
std::string text_of(const JobJournal& journal) {
  return json_of(journal).dump(1, ' ', false, JsonInvalidUtf8::replace) + "\n";
}

}  // namespace

JobJournal take_lead(
    JobStore& store, const std::string& owner, const std::function<double()>& now,
    const std::function<JobJournal(const std::optional<std::string>& kept)>& from) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    JobJournal journal = from(store.read());
    journal.owner = owner;
    if (journal.step == JobStep::stop) journal.stop_since = now();
    if (store.write(text_of(journal))) return journal;
  }
  throw JobTakenOver("cloud: other processes keep taking over the job",
                     "let only one of them lead it");
}

JobDeadline time_to_close(const JobJournal& journal, const JobTimes& times, double now) {
  const JobSpec& spec = journal.spec;
  const JobMachine* there = journal.there();
  double rate = there != nullptr ? there->dollars_an_hour : 0;
  for (const JobSpec::Zone& zone : spec.zones)
    if (there == nullptr) rate = std::max(rate, zone.dollars_an_hour);
  const double need = times.closing + times.poll + (there == nullptr ? times.useful : 0);
  const double left = spec.budget - dollars_so_far(journal, now);
  const double by_money = rate > 0 ? left / rate * 3600 - need : left <= 0 ? 0 : spec.patience;
  const double by_time = spec.until > 0 ? spec.until - now - need : by_money;
  return by_time < by_money ? JobDeadline{by_time, "until"} : JobDeadline{by_money, "budget"};
}

Job::Job(JobJournal journal, JobEnvironment world)
    : journal_(std::move(journal)),
      world_(std::move(world)),
      machines_(journal_,
                {world_.tpu, world_.now, [this] { save(); }, [this] { require_lead(); },
                 [this](const std::string& line) { tell(line); }},
                world_.startup),
      written_(text_of(journal_)) {
  // Polls often enough that the machine does not delete itself between two polls.
  world_.times.poll = std::min(world_.times.poll, journal_.spec.silence / 4);
}

void Job::tell(const std::string& line) {
  const JobMachine* machine = journal_.there();
  const double rate = machine == nullptr ? 0 : machine->dollars_an_hour;
  world_.tell(str("[", dollars_text(dollars_so_far(journal_, world_.now())), ", ",
                  dollars_text(rate), " an hour] ", line));
  told_at_ = world_.now();
}

void Job::report_error(const std::string& text) {
  if (text != told_ || world_.now() - told_at_ >= kTellEvery) tell(str(text, "; retrying"));
  told_ = text;
}

void Job::save() {
  const std::string text = text_of(journal_);
  if (text == written_) return;
  if (!world_.store.write(text)) throw_taken_over("another process");
  written_ = text;
}

// Changes the step and saves the journal. In the steps `stop` and `clean`, a failure to save is
// only reported, so that the machine is deleted even if the bucket does not respond.
void Job::go(JobStep step) {
  journal_.step = step;
  try {
    save();
  } catch (const SystemError& error) {
    if (step != JobStep::stop && step != JobStep::clean) throw;
    report_error(first_line(error.what()));
  }
}

void Job::throw_taken_over(const std::string& owner) const {
  throw JobTakenOver(str("cloud: the job was taken over by ", owner),
                     journal_.step == JobStep::stage
                         ? "give the same command again to take it back"
                         : str("take it back: smelt cloud watch ", journal_.spec.folder));
}

void Job::require_lead() {
  const auto text = world_.store.read();
  if (!text) return;
  const std::string owner = parse_journal(*text, kJournalName).owner;
  if (owner != world_.owner) throw_taken_over(owner);
}

void Job::end(const std::string& outcome, const std::string& why) {
  if (!journal_.outcome.empty()) return;
  journal_.outcome = outcome;
  journal_.why = why;
  journal_.stop_since = world_.now();
  tell(str(outcome, ": ", why));
  go(journal_.step == JobStep::train ? JobStep::stop : JobStep::clean);
}

void Job::close_in_time() {
  const JobStep step = journal_.step;
  if (step != JobStep::machine && step != JobStep::install && step != JobStep::train) return;
  const JobDeadline closing = time_to_close(journal_, world_.times, world_.now());
  if (closing.seconds > 0) return;
  const bool is_money = std::string_view(closing.reason) == "budget";
  end(closing.reason, is_money
                          ? str("the rest of the budget of ", dollars_text(journal_.spec.budget),
                                " is needed to save and to delete the machine")
                          : "the time limit (--until) is reached");
}

void Job::stage() {
  world_.stage([this] { require_lead(); });
  go(JobStep::machine);
}

// Takes a step towards a machine. The job fails after JobSpec::patience seconds without one; time
// while this process is suspended does not count.
void Job::machine() {
  const double now = world_.now();
  if (sought_at_ > 0) sought_ += std::min(now - sought_at_, world_.times.apart + world_.times.poll);
  sought_at_ = now;
  if (sought_ > journal_.spec.patience)
    return fail("no machine became available in the time limit");
  try {
    if (const auto node = machines_.seek()) {
      sought_ = sought_at_ = 0;
      tell(str(node->zone, ": ", node->name, " is READY"));
      go(JobStep::install);
    }
  } catch (const io::CredentialsRefused&) {
    throw;  // the user has to sign in again
  } catch (const UsageError& error) {
    if (journal_.there() != nullptr) throw;
    fail(error.what());
  }
}

void Job::lost(const std::string& what) {
  tell(str(what, "; creating another"));
  useless_since_ = 0;
  was_reached_ = false;
  go(JobStep::machine);
}

// Handles an unreachable machine in the training step. Does not replace a machine that this process
// has never reached: the previous leader did reach it, and it deletes itself without a supervisor.
void Job::unheard(const std::string& why) {
  const auto before = journal_.progress;
  take_progress();
  if (journal_.progress != before) useless_since_ = 0;
  was_reached_ ? useless(why) : report_error(first_line(why));
}

void Job::take_log(const JobWorkers::Look& look) {
  if (!look.log.empty()) world_.log(look.log);
  journal_.log_end = look.log_end;
}

void Job::take_progress() {
  const auto newest = world_.newest_checkpoint();
  if (!newest || newest == journal_.progress) return;
  const bool is_less = journal_.progress && *newest < *journal_.progress;  // training restarted
  journal_.progress = newest;
  if (is_less) return;
  journal_.fruitless = 0;
  tell(str("checkpoint of step ", *newest));
}

void Job::start_command(const TpuNode& node) {
  if (journal_.fruitless >= journal_.spec.attempts)
    return fail(str(journal_.fruitless, " starts in a row without a new checkpoint"));
  journal_.log_end.clear();
  save();
  try {
    world_.workers.start(node, journal_.spec.command);
  } catch (const SystemError& error) {
    return useless(error.what());
  }
  useless_since_ = 0;
  ++journal_.starts;
  ++journal_.fruitless;
  tell(str("started", journal_.starts > 1 ? str(" (start ", journal_.starts, ")") : ""));
}

// Prints the rest of the command's output, which may show why the command ended. One look() only
// returns a part of it. Stops after a minute; the bucket has the whole output.
void Job::rest_of_log(const TpuNode& node) {
  constexpr double kAtMost = 60;  // seconds
  for (const double began = world_.now(); world_.now() - began < kAtMost;) {
    const double left = seconds_left(journal_, world_.now());
    const auto look = world_.workers.look(node, left, journal_.log_end);
    if (look.log.empty()) return;
    take_log(look);
  }
}

// Copies the log to the bucket. If that fails, prints the error and goes on, so that the machine is
// not kept.
void Job::keep_log(const TpuNode& node) {
  try {
    world_.workers.keep_log(node);
    tell(str("its log is in ", io::join_path(journal_.spec.folder, "log")));
  } catch (const Stopped&) {
    throw;
  } catch (const BugError&) {
    throw;
  } catch (const Error& error) {
    tell(first_line(error.what()));
  }
}

void Job::take_end(const TpuNode& node, int status) {
  keep_log(node);
  if (status == 0) {
    journal_.outcome = "done";
    journal_.why = "the command has ended";
    tell("the command has ended: done");
    return go(JobStep::clean);
  }
  if (status == kUserError)
    return fail("the command ended with status 2; its last output says why");
  tell(str("the command ended with status ", status));
  start_command(node);
}

void Job::train() {
  const auto node = machines_.current();
  if (!node) return lost("the machine is lost");
  JobWorkers::Look look;
  const double left = seconds_left(journal_, world_.now());
  try {
    look = world_.workers.look(*node, left, journal_.log_end);
  } catch (const Stopped&) {
    throw;
  } catch (const SystemError& error) {
    return unheard(error.what());
  }
  if (look.state == JobWorkers::Look::State::running) useless_since_ = 0;
  was_reached_ = true;
  journal_.machines.back().deadline = world_.now() + left;
  const bool has_ended = look.state == JobWorkers::Look::State::ended;
  take_log(look);
  take_progress();
  if (look.state == JobWorkers::Look::State::none) start_command(*node);
  if (has_ended && !look.log.empty()) rest_of_log(*node);
  if (has_ended) take_end(*node, look.status);
  if (world_.now() - told_at_ >= kTellEvery) tell("training continues");
  save();
  drop_strays();
}

void Job::drop_strays() {
  constexpr double kEvery = 300;  // seconds
  if (journal_.step != JobStep::train || world_.now() - strays_at_ < kEvery) return;
  strays_at_ = world_.now();
  machines_.drop_strays();
}

void Job::stop() {
  const auto node = machines_.current();
  if (!node) return go(JobStep::clean);
  if (world_.now() - journal_.stop_since > world_.times.stop_at_most) {
    tell("the command did not end in time");
    keep_log(*node);
    return go(JobStep::clean);
  }
  const double left = std::min(world_.times.closing, seconds_left(journal_, world_.now()));
  if (!was_told_to_stop_) world_.workers.stop(*node);
  was_told_to_stop_ = true;
  const auto look = world_.workers.look(*node, left, journal_.log_end);
  take_log(look);
  if (look.state == JobWorkers::Look::State::running) return;
  if (!look.log.empty()) rest_of_log(*node);
  if (look.state == JobWorkers::Look::State::ended) keep_log(*node);
  go(JobStep::clean);
}

void Job::clean() {
  if (!machines_.clear()) return;
  tell("everything that the job created is deleted");
  go(JobStep::collect);
}

void Job::collect() {
  take_progress();
  if (journal_.outcome == "done" || journal_.progress) world_.fetch();
  go(JobStep::ended);
}

void Job::tick() {
  std::string why;
  began_ = world_.now();
  try {
    require_lead();
  } catch (const Stopped&) {
    throw;
  } catch (const Error& error) {
    why = error.what();
  }
  close_in_time();
  if (!why.empty() && journal_.step != JobStep::stop && journal_.step != JobStep::clean)
    throw SystemError(why);
  switch (journal_.step) {
    case JobStep::stage:
      return stage();
    case JobStep::machine:
      return machine();
    case JobStep::install:
      return install();
    case JobStep::train:
      return train();
    case JobStep::stop:
      return stop();
    case JobStep::clean:
      return clean();
    case JobStep::collect:
      return collect();
    case JobStep::ended:
      return;
  }
}

const JobJournal& Job::run() {
  while (journal_.step != JobStep::ended) {
    const JobStep before = journal_.step;
    try {
      tick();
      if (journal_.step != before) {
        told_.clear();
        continue;
      }
    } catch (const Stopped&) {
      throw;
    } catch (const BugError&) {
      throw;
    } catch (const Error& error) {
      // In these steps no machine costs money, so the user gets the error at once.
      if (before == JobStep::stage || before == JobStep::collect) throw;
      const bool says_how = dynamic_cast<const io::CredentialsRefused*>(&error) != nullptr;
      report_error(says_how ? error.what() : first_line(error.what()));
    }
    const bool closes = journal_.step == JobStep::stop || journal_.step == JobStep::clean;
    world_.wait(closes ? std::min(world_.times.poll, world_.times.closing_poll)
                       : world_.times.poll);
  }
  return journal_;
}

}  // namespace smelt::cloud
