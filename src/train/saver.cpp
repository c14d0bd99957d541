#include "train/saver.h"

#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "checkpoint/checkpoint.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr const char* kScore = "score";  // in the settings of what was saved as the best

// A loss is best where it is lowest, all else where it is highest.
bool is_better(const std::string& name, double value, double than) {
  return name.ends_with("loss") ? value < than : value > than;
}

// The best value of a measure in a folder of the best, which a kill may have left two in.
std::optional<double> score_in(const std::string& folder, const std::string& name) {
  std::optional<double> best;
  if (name.empty()) return best;
  for (const std::int64_t step : checkpoint_steps(folder)) try {
      const auto settings = checkpoint_state(committed_path(folder, step));
      const auto score = settings.value(kScore, nlohmann::json::object());
      if (score.value("name", "") != name) continue;
      const auto value = score.at("value").get<double>();
      if (!best || is_better(name, value, *best)) best = value;
    } catch (const DamagedCheckpoint& error) {
      spdlog::warn("{}\n  it counts as none", error.what());
    }
  return best;
}

// A message and the hint at its end.
std::pair<std::string, std::string> without_hint(const std::string& message) {
  constexpr std::string_view kHint = "\n  hint: ";
  const std::size_t at = message.find(kHint);
  if (at == message.npos) return {message, "mend that"};
  return {message.substr(0, at), message.substr(at + kHint.size())};
}

}  // namespace

Saver::Saver(const TrainJob& job, const Start& start)
    : job_(job), saved_(start.is_saved() ? start.step : -1), newest_(saved_) {
  if (start.is_saved()) best_ = score_in(folder("best"), job.keep_best);
}

bool Saver::is_kept_for_ever(std::int64_t step) const {
  return job_.keep_every > 0 && step > 0 && step % job_.keep_every == 0;
}

std::string Saver::folder(const char* name) const { return join_path(job_.model_dir, name); }

bool Saver::is_due(std::int64_t step) const {
  if (step == newest_) return false;
  return step % job_.save_every == 0 ||
         (job_.save_minutes > 0 && seconds_since(begun_) >= 60 * job_.save_minutes);
}

bool Saver::is_best(const Evaluation& evaluation) const {
  if (job_.keep_best.empty()) return false;
  const auto& [name, value, weight] = evaluation.measure(job_.keep_best);
  if (weight == 0 || !std::isfinite(value)) return false;
  return !best_ || is_better(job_.keep_best, value, *best_);
}

void Saver::wait() {
  if (under_way_.valid()) tell(under_way_.get());
}

void Saver::look() {
  if (under_way_.valid() &&
      under_way_.wait_for(std::chrono::seconds(0)) == std::future_status::ready)
    wait();
}

void Saver::save(std::int64_t step, StateCopy state, const Kinds& kinds, nlohmann::json settings) {
  CHECK(!under_way_.valid());
  if (kinds.regular) {
    newest_ = step;
    begun_ = Clock::now();
  }
  if (kinds.best) {
    before_best_ = best_;
    best_ = kinds.best;
    settings[kScore] = {{"name", job_.keep_best}, {"value", *kinds.best}};
  }
  under_way_ = run_async(
      [this, step, state = std::move(state), kinds, settings = std::move(settings)]() mutable {
        return write(step, std::move(state), kinds, settings);
      });
}

// What the device has to say of the state ends the run, and so does a mistake of ours.
Saver::Outcome Saver::write(std::int64_t step, StateCopy state, const Kinds& kinds,
                            const nlohmann::json& settings) const {
  const HostState& host = state.host();
  Outcome outcome{.step = step,
                  .regular = kinds.regular,
                  .best_lost = kinds.best.has_value(),
                  .not_finite = first_not_finite(host)};
  if (outcome.not_finite) return outcome;
  try {
    write_kinds(step, host, kinds, settings, outcome);
  } catch (const BugError&) {
    throw;
  } catch (const Error& error) {
    outcome.failure = error.what();
  }
  return outcome;
}

// The model folder is last: what a run goes on from needs no other place to be mended, wherever a
// kill has come. The other way round the best of its step, or the copy of it, would be lost.
void Saver::write_kinds(std::int64_t step, const HostState& host, const Kinds& kinds,
                        const nlohmann::json& settings, Outcome& outcome) const {
  std::string first;  // whose files the other places share
  const auto publish = [&](const std::string& place, const SaveOptions& options) {
    if (first.empty())
      save_checkpoint(place, step, host.tensors, settings, options);
    else
      keep_checkpoint(first, step, place, options);
    if (first.empty()) first = place;
  };
  if (kinds.best) publish(folder("best"), {.names = job_.names, .alone = true});
  outcome.best_lost = false;
  if (!kinds.regular) return;
  if (is_kept_for_ever(step)) publish(folder("save"), {.max_to_keep = 0, .names = job_.names});
  publish(job_.model_dir, {.max_to_keep = static_cast<int>(job_.keep),
                           .names = job_.names,
                           .spare = step_to_rewind_to(step)});
}

// Those that minutes and signals saved must not push it out.
std::optional<std::int64_t> Saver::step_to_rewind_to(std::int64_t step) const {
  if (job_.config.spikes.action != SpikeAction::rewind) return std::nullopt;
  return step - step % job_.save_every;
}

void Saver::note(const Outcome& outcome) {
  if (outcome.regular && !outcome.not_finite && outcome.failure.empty()) saved_ = outcome.step;
}

void Saver::tell(const Outcome& outcome) {
  note(outcome);
  if (outcome.not_finite) throw_not_finite(outcome.step, *outcome.not_finite);
  failure_ = outcome.failure;
  if (outcome.best_lost) best_ = before_best_;
  if (failure_.empty()) return;
  const auto [what, hint] = without_hint(failure_);
  spdlog::error(
      "train: the state of step {} is not saved: {}\n  training goes on; {}; the next save tries "
      "again\n  hint: {}",
      outcome.step, what, where_to_go_on(), hint);
}

void Saver::finish() {
  wait();
  if (failure_.empty()) return;
  const auto [what, hint] = without_hint(failure_);
  throw SystemError(str("train: the state of step ", newest_, " is not saved: ", what),
                    str(hint, "; ", where_to_go_on(), ": ", how_to_go_on(job_)));
}

void Saver::throw_not_finite(std::int64_t step, const std::string& tensor) {
  throw SystemError(str("train: after step ", step, " ", tensor, " is not finite"),
                    what_steadies());
}

void Saver::require_finite(std::int64_t step, const HostState& host) {
  if (const auto bad = first_not_finite(host)) throw_not_finite(step, *bad);
}

std::string Saver::where_to_go_on() {
  if (under_way_.valid()) try {
      note(under_way_.get());
    } catch (const Error&) {  // another error is being told
    }
  return saved_ < 0 ? std::string("nothing was saved yet")
                    : str("the checkpoint of step ", saved_, " is good");
}

std::string Saver::what_steadies() {
  return str("lower ", job_.fields("learning_rate"), " or raise ", job_.fields("warmup_steps"),
             "; ", where_to_go_on());
}

}  // namespace smelt
