#include "cloud/machines.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop_signal.h"
#include "cloud/tpu_fault.h"

namespace smelt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPoll(1000), kSlowestPoll(10'000), kBetweenLooks(3000);
constexpr int kLooks = 5;

// Asks again and again until `ended` does not say false; false when it did not end in time.
bool poll_until(const Patience& patience, const std::function<bool()>& ended) {
  milliseconds waited{0}, next = kFirstPoll;
  while (!ended()) {
    if (waited >= patience.at_most) return false;
    patience.wait(next);
    waited += next;
    next = std::min(2 * next, kSlowestPoll);
  }
  return true;
}

std::string take_down_hint(const MachineRequest& request, const std::string& zone) {
  return str("it may be coming up: smelt cloud list shows it, smelt cloud down ", request.name,
             " --zone ", zone, " deletes it");
}

// One zone's try.
struct Tried {
  std::optional<TpuNode> node;
  std::string why_not;  // no capacity or no quota: another zone may have it
};

std::string no_such_here(const ApiFault& fault) {
  const TpuFault kind = kind_of(fault);
  if (kind == TpuFault::capacity) return "no capacity";
  return kind == TpuFault::quota ? str("no quota: ", fault.message) : "";
}

class ZoneTry {
 public:
  ZoneTry(TpuApi& tpu, const std::string& project, const MachineRequest& request,
          const std::string& zone, const Patience& patience)
      : tpu_(tpu), project_(project), request_(request), zone_(zone), patience_(patience) {}

  Tried run() try {
    const auto operation = begin();
    if (!why_not_.empty()) return {std::nullopt, why_not_};
    patience_.tell(str(zone_, ": ", request_.name, " is being made"));
    if (operation) finish(*operation);
    if (!why_not_.empty()) return {std::nullopt, why_not_};
    return {ready_node(), ""};
  } catch (const Stopped&) {
    throw Stopped(str("cloud: ", request_.name, " in ", zone_), take_down_hint(request_, zone_));
  }

 private:
  std::string what() const { return str(request_.name, " in ", zone_); }

  // Nothing where no operation was named though the node is there.
  std::optional<std::string> begin() {
    TpuApi::Begun begun;
    try {
      begun = tpu_.create(zone_, request_.name, request_.spec);
    } catch (const SystemError& error) {
      const std::string_view text = error.what();
      return look_for_it(text.substr(0, text.find('\n')));
    }
    if (!begun.fault) return begun.operation;
    why_not_ = no_such_here(*begun.fault);
    if (!why_not_.empty()) return std::nullopt;
    if (begun.fault->status >= 500) return look_for_it(begun.fault->message);
    throw_fault(*begun.fault, what(), project_);
  }

  // After a request that was not answered: it may have arrived, and show a little later.
  std::optional<std::string> look_for_it(std::string_view why) {
    for (int look = 0; look < kLooks; ++look) {
      if (tpu_.node(zone_, request_.name)) return std::nullopt;
      patience_.wait(kBetweenLooks);
    }
    throw SystemError(str("cloud: ", what(), ": the request was not answered: ", why),
                      take_down_hint(request_, zone_));
  }

  void finish(const std::string& operation) {
    TpuApi::Progress progress;
    const bool ended =
        poll_until(patience_, [&] { return (progress = tpu_.progress(operation)).done; });
    if (!ended) throw_late();
    if (!progress.fault) return;
    why_not_ = no_such_here(*progress.fault);
    // What failed can leave a node that counts.
    take_down(tpu_, project_, zone_, request_.name, patience_);
    if (why_not_.empty()) throw_fault(*progress.fault, what(), project_);
  }

  TpuNode ready_node() {
    std::optional<TpuNode> node;
    const bool ended = poll_until(patience_, [&] {
      node = tpu_.node(zone_, request_.name);
      return !node || node->is_lost() || node->state == "READY";
    });
    if (!ended) throw_late();
    if (!node) throw SystemError(str("cloud: ", what(), ": it was made, and is there no more"));
    if (node->is_lost())
      throw SystemError(str("cloud: ", what(), ": it is ", node->state, " already"),
                        str("smelt cloud down ", request_.name, " --zone ", zone_));
    return *node;
  }

  [[noreturn]] void throw_late() const {
    throw SystemError(
        str("cloud: ", what(), ": it is not there after ",
            std::chrono::duration_cast<std::chrono::minutes>(patience_.at_most).count(),
            " minutes"),
        take_down_hint(request_, zone_));
  }

  TpuApi& tpu_;
  const std::string& project_;
  const MachineRequest& request_;
  const std::string& zone_;
  const Patience& patience_;
  std::string why_not_;
};

}  // namespace

void wait_or_stop(milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (StopSignal::raised()) throw Stopped("cloud: the wait was given up");
    std::this_thread::sleep_for(std::min<Clock::duration>(milliseconds(50), end - Clock::now()));
  }
}

TpuNode bring_up(TpuApi& tpu, const std::string& project, const MachineRequest& request,
                 const Patience& patience) {
  require_name(request.name);
  for (const std::string& zone : request.zones)
    if (const auto there = tpu.node(zone, request.name))
      throw UsageError(
          str("cloud: ", request.name, " is in ", zone, " already, ", there->state),
          str("take another name, or: smelt cloud down ", request.name, " --zone ", zone));
  std::vector<std::string> said;
  for (const std::string& zone : request.zones) {
    const Tried tried = ZoneTry(tpu, project, request, zone, patience).run();
    if (tried.node) return *tried.node;
    said.push_back(str(zone, ": ", tried.why_not));
    patience.tell(said.back());
  }
  throw SystemError(
      str("cloud: no zone gives a ", request.spec.accelerator_type, ": ", join(said, "; ")),
      "name other zones, another type, or try again later");
}

bool take_down(TpuApi& tpu, const std::string& project, const std::string& zone,
               const std::string& name, const Patience& patience) {
  const auto operation = tpu.remove(zone, name);
  if (!operation) return false;
  TpuApi::Progress progress;
  const bool ended = poll_until(patience, [&] {
    progress = tpu.progress(*operation);
    return progress.done;
  });
  if (progress.fault) throw_fault(*progress.fault, str(name, " in ", zone), project);
  if (!ended || tpu.node(zone, name))
    throw SystemError(str("cloud: ", name, " in ", zone, ": it is being deleted and still there"),
                      "smelt cloud list shows it; give the same command again");
  return true;
}

}  // namespace smelt
