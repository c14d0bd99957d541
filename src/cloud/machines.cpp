#include "cloud/machines.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop_signal.h"
#include "cloud/tpu_fault.h"

namespace smelt {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks(3000);
constexpr int kLooks = 5;

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
      return look_for_it(first_line(error.what()));
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

void require_none(TpuApi& tpu, const std::string& zone, const std::string& name) {
  const auto refuse = [&](const std::string& where, const std::string& state) {
    throw UsageError(str("cloud: ", name, " is in ", where, " already, ", state),
                     str("take another name, or: smelt cloud down ", name, " --zone ", zone));
  };
  if (const auto there = tpu.node(zone, name)) refuse(zone, there->state);
  if (const auto there = tpu.queued_one(zone, name)) refuse(zone + "'s queue", there->state);
}

// How it is in the queue, from there on.
std::string queue_hint(const std::string& zone, const std::string& name) {
  return str("it stays in the queue: smelt cloud status ", name, " --zone ", zone,
             " --wait waits for it, smelt cloud down ", name, " --zone ", zone, " takes it out");
}

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
  for (const std::string& zone : request.zones) require_none(tpu, zone, request.name);
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

void enqueue(TpuApi& tpu, const std::string& project, const MachineRequest& request,
             const QueueSpec& queue, const Patience& patience) {
  const std::string& zone = request.zones.front();
  require_name(request.name);
  require_none(tpu, zone, request.name);
  const std::string what = str(request.name, " in ", zone);
  std::string why;
  try {
    const TpuApi::Begun begun = tpu.enqueue(zone, request.name, request.spec, queue);
    if (!begun.fault) return;
    if (begun.fault->status < 500) throw_fault(*begun.fault, what, project);
    why = begun.fault->message;
  } catch (const Stopped&) {
    throw;
  } catch (const SystemError& error) {
    why = first_line(error.what());
  }
  for (int look = 0; look < kLooks; ++look) {
    if (tpu.queued_one(zone, request.name)) return;
    patience.wait(kBetweenLooks);
  }
  throw SystemError(str("cloud: ", what, ": the request was not answered: ", why),
                    take_down_hint(request, zone));
}

TpuNode wait_for_machine(TpuApi& tpu, const std::string& zone, const std::string& name,
                         const Patience& patience) try {
  const std::string what = str(name, " in ", zone);
  std::string told;
  Found found;
  const bool ended = poll_until(
      patience,
      [&] {
        found = {tpu.node(zone, name), tpu.queued_one(zone, name)};
        const bool by_queue = found.queued && (found.queued->state != "ACTIVE" || !found.node);
        const std::string state = by_queue     ? found.queued->state
                                  : found.node ? found.node->state
                                               : "";
        if (state != told && !state.empty()) patience.tell(str(zone, ": ", name, " is ", state));
        told = state;
        if (!found.node && !found.queued) return true;
        if (found.queued && found.queued->is_lost()) return true;
        return !by_queue && found.node && (found.node->is_lost() || found.node->state == "READY");
      },
      std::chrono::seconds(30));
  if (!ended)
    throw SystemError(str("cloud: ", what, ": it is ", told, " still"), queue_hint(zone, name));
  const bool is_going = found.queued && found.queued->is_lost();
  if (found.node && found.node->state == "READY" && !is_going) return *found.node;
  if (told.empty()) throw UsageError(str("cloud: there is no ", what), "smelt cloud list");
  const std::string fault = found.queued ? found.queued->fault : "";
  throw SystemError(str("cloud: ", what, ": it is ", told, fault.empty() ? "" : ": ", fault),
                    str("smelt cloud down ", name, " --zone ", zone, " deletes what is left"));
} catch (const Stopped&) {
  throw Stopped(str("cloud: ", name, " in ", zone), queue_hint(zone, name));
}

Everywhere find_everywhere(TpuApi& tpu, const std::string& name) {
  Everywhere out;
  const auto nodes = tpu.nodes(kAllZones);
  for (const TpuNode& node : nodes.items)
    if (node.name == name) out.by_zone[node.zone].node = node;
  const auto queue = tpu.queued(kAllZones);
  for (const TpuQueued& queued : queue.items)
    if (queued.name == name) out.by_zone[queued.zone].queued = queued;
  std::set<std::string> silent(nodes.unreachable.begin(), nodes.unreachable.end());
  silent.insert(queue.unreachable.begin(), queue.unreachable.end());
  out.unreachable.assign(silent.begin(), silent.end());
  return out;
}

Found find_machine(TpuApi& tpu, const std::string& zone, const std::string& name) {
  require_name(name);
  if (zone != kAllZones) {
    require_zone(zone);
    Found found{tpu.node(zone, name), tpu.queued_one(zone, name)};
    if (found.node || found.queued) return found;
    tpu.require_zones({zone});
    throw UsageError(str("cloud: there is no ", name, " in ", zone), "smelt cloud list");
  }
  const auto [by_zone, unreachable] = find_everywhere(tpu, name);
  if (by_zone.size() > 1)
    throw UsageError(str("cloud: ", name, " is in several zones"),
                     str("name one: --zone ", by_zone.begin()->first));
  if (!by_zone.empty()) return by_zone.begin()->second;
  const std::string silent =
      unreachable.empty() ? "" : str("; no answer from ", join(unreachable, ", "));
  throw UsageError(str("cloud: there is no ", name, silent), "smelt cloud list");
}

void finish_switch(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const std::string& verb, const Patience& patience) {
  const std::string what = str(node.name, " in ", node.zone);
  const auto operation = tpu.begin_on(node.zone, node.name, verb.c_str());
  if (!operation) throw UsageError(str("cloud: there is no ", what), "smelt cloud list");
  TpuApi::Progress progress;
  if (!poll_until(patience, [&] { return (progress = tpu.progress(*operation)).done; }))
    throw SystemError(str("cloud: ", what, ": it did not ", verb, " in time"),
                      "smelt cloud status");
  if (progress.fault) throw_fault(*progress.fault, what, project);
}

bool take_down(TpuApi& tpu, const std::string& project, const std::string& zone,
               const std::string& name, const Patience& patience) {
  // What makes a node in its turn is deleted with it: a node alone would leave it behind.
  std::optional<std::string> operation = tpu.dequeue(zone, name);
  if (!operation) operation = tpu.remove(zone, name);
  if (!operation) return false;
  TpuApi::Progress progress;
  const bool ended = poll_until(patience, [&] {
    progress = tpu.progress(*operation);
    return progress.done;
  });
  if (progress.fault) throw_fault(*progress.fault, str(name, " in ", zone), project);
  if (!ended || tpu.node(zone, name) || tpu.queued_one(zone, name))
    throw SystemError(str("cloud: ", name, " in ", zone, ": it is being deleted and still there"),
                      "smelt cloud list shows it; give the same command again");
  return true;
}

}  // namespace smelt
