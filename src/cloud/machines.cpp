#include "cloud/machines.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop_signal.h"
#include "cloud/tpu_fault.h"

namespace smelt::cloud {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks(3000);
constexpr int kLooks = 12;  // kBetweenLooks apart; half a minute in total

std::string down_command(const std::string& name, const std::string& zone) {
  return str("smelt cloud down ", name, " --zone ", zone);
}

std::string take_down_hint(const MachineRequest& request, const std::string& zone) {
  return str("it may be coming up; show it with smelt cloud list, delete it with ",
             down_command(request.name, zone));
}

// Returns the hint for a machine that stays in the queue.
std::string queue_hint(const std::string& name, const std::string& zone) {
  return str("it stays in the queue; wait with smelt cloud status ", name, " --zone ", zone,
             " --wait, or remove it with ", down_command(name, zone));
}

// Returns the result of `work`. If it throws an error, appends `hint` to the error's hint, unless
// that already contains `command`, and throws an error of the same type. After a signal, throws
// Stopped with the text `what` and the hint. `work` may clear `hint`.
template <class Work>
auto with_hint(const std::string& what, const std::string& hint, const std::string& command,
               const Work& work) {
  const auto more = [&]<class E>(const E& error) {
    const auto [text, own] = error_parts(error.what());
    if (hint.empty() || own.find(command) != std::string::npos) return error;
    return E(text, own.empty() ? hint : str(own, "; ", hint));
  };
  try {
    return work();
  } catch (const Stopped&) {
    throw Stopped("cloud: " + what, hint);
  } catch (const io::CredentialsRefused& error) {
    throw more(error);
  } catch (const OtherRefusal& error) {
    throw more(error);
  } catch (const UsageError& error) {
    throw more(error);
  } catch (const SystemError& error) {
    throw more(error);
  }
}

// An API call that is repeated while waiting. If the server does not respond, result() returns
// nullopt and reports that once.
class PolledCall {
 public:
  explicit PolledCall(const Patience& patience) : patience_(patience) {}
  template <class Call>
  auto result(const Call& call) -> std::optional<decltype(call())> {
    try {
      auto result = call();
      is_reported_ = false;
      return result;
    } catch (const SystemError& error) {
      if (!std::exchange(is_reported_, true))
        patience_.tell(
            str("the server does not respond; waiting for it: ", first_line(error.what())));
      return std::nullopt;
    }
  }

 private:
  const Patience& patience_;
  bool is_reported_ = false;
};

// Waits for an operation and returns its result, or nullopt if it does not end in patience.at_most.
std::optional<TpuApi::Progress> wait_for_operation(TpuApi& tpu, const std::string& operation,
                                                   const Patience& patience) {
  PolledCall call(patience);
  std::optional<TpuApi::Progress> progress;
  const bool ended = poll_until(patience, [&] {
    progress = call.result([&] { return tpu.progress(operation); });
    return progress && progress->done;
  });
  return ended ? progress : std::nullopt;
}

// The result of a request to one zone: a node, or the reason why another zone should be tried.
struct Tried {
  std::optional<TpuNode> node;
  std::string why_not;
  std::optional<ApiFault> refusal;  // for reasons other than capacity and quota
};

// Returns whether another zone may accept the request, for example if this zone lacks the type.
bool may_be_elsewhere(const ApiFault& refusal) {
  const TpuFault kind = kind_of(refusal);
  return kind == TpuFault::not_found || kind == TpuFault::passing || kind == TpuFault::other;
}

// Returns whether a resource exists whose creation request got no response. Calls `look` up to
// kLooks times, because the resource may appear late. Keeps waiting while the server does not
// respond.
bool is_seen(const std::function<bool()>& look, const Patience& patience) {
  PolledCall call(patience);
  int looks = 0;
  bool seen = false;
  poll_until(
      patience,
      [&] {
        const auto answer = call.result(look);
        seen = answer.value_or(false);
        return seen || (answer && ++looks >= kLooks);
      },
      kBetweenLooks);
  return seen;
}

class ZoneTry {
 public:
  ZoneTry(TpuApi& tpu, const std::string& project, const MachineRequest& request,
          const std::string& zone, const Patience& patience)
      : tpu_(tpu), project_(project), request_(request), zone_(zone), patience_(patience) {}

  Tried run() {
    return with_hint(what(), hint_, down_command(request_.name, zone_),
                     [this] { return try_it(); });
  }

 private:
  Tried try_it() {
    const auto operation = begin();
    if (!why_not_.empty()) return {std::nullopt, why_not_, refusal_};
    patience_.tell(str(zone_, ": ", request_.name, " is being created"));
    if (operation) finish(*operation);
    if (!why_not_.empty()) return {std::nullopt, why_not_, refusal_};
    return {ready_node(), "", {}};
  }
  std::string what() const { return str(request_.name, " in ", zone_); }

  // Records why the zone did not create the machine.
  void refuse(const ApiFault& fault) {
    const TpuFault kind = kind_of(fault);
    if (kind == TpuFault::capacity) {
      why_not_ = "no capacity";
    } else if (kind == TpuFault::quota) {
      why_not_ = str("no quota: ", fault.message);
    } else {
      why_not_ = fault.message;
      refusal_ = fault;
    }
  }

  // Requests the node and returns the operation. Returns nullopt if the zone refuses the request,
  // or if the node exists but the operation is unknown.
  std::optional<std::string> begin() {
    TpuApi::Begun begun;
    try {
      begun = tpu_.create(zone_, request_.name, request_.spec);
    } catch (const UsageError&) {  // refused: nothing is created
      hint_.clear();
      throw;
    } catch (const SystemError& error) {
      return look_for_it(first_line(error.what()));
    }
    if (!begun.fault) return begun.operation;
    if (begun.fault->status >= 500) return look_for_it(begun.fault->message);
    refuse(*begun.fault);
    return std::nullopt;
  }

  // Looks for the node after a request without a response, which may have arrived. Returns nullopt,
  // because the operation is unknown. Throws SystemError if the node does not appear.
  std::optional<std::string> look_for_it(std::string_view why) {
    if (!is_seen([this] { return tpu_.node(zone_, request_.name).has_value(); }, patience_))
      throw SystemError(str("cloud: ", what(), ": no response to the request: ", why));
    return std::nullopt;
  }

  void finish(const std::string& operation) {
    const auto progress = wait_for_operation(tpu_, operation, patience_);
    if (!progress) throw_late();
    if (!progress->fault) return;
    // A failed operation can leave a node that costs money.
    take_down(tpu_, project_, zone_, request_.name, patience_);
    refuse(*progress->fault);
  }

  TpuNode ready_node() {
    PolledCall call(patience_);
    std::optional<TpuNode> node;
    int unseen = 0;  // a new node may become visible later
    const bool ended = poll_until(patience_, [&] {
      const auto answer = call.result([&] { return tpu_.node(zone_, request_.name); });
      if (!answer) return false;
      node = *answer;
      if (!node) return ++unseen >= kLooks;
      return node->is_lost() || node->state == "READY";
    });
    if (!ended) throw_late();
    if (!node) throw SystemError(str("cloud: ", what(), ": it was created, but no longer exists"));
    if (node->is_lost())
      throw SystemError(str("cloud: ", what(), ": it is already ", node->state),
                        down_command(request_.name, zone_));
    return *node;
  }

  [[noreturn]] void throw_late() const {
    throw SystemError(str(
        "cloud: ", what(), ": not READY after ",
        std::chrono::duration_cast<std::chrono::minutes>(patience_.at_most).count(), " minutes"));
  }

  TpuApi& tpu_;
  const std::string& project_;
  const MachineRequest& request_;
  const std::string& zone_;
  const Patience& patience_;
  std::string hint_ = take_down_hint(request_, zone_);
  std::string why_not_;
  std::optional<ApiFault> refusal_;
};

void require_none(TpuApi& tpu, const std::string& zone, const std::string& name) {
  const auto refuse = [&](const std::string& where, const std::string& state) {
    throw UsageError(str("cloud: ", name, " already exists in ", where, ", ", state),
                     str("choose another name, or: ", down_command(name, zone)));
  };
  if (const auto there = tpu.node(zone, name)) refuse(zone, there->state);
  if (const auto there = tpu.queued_one(zone, name)) refuse(zone + "'s queue", there->state);
}

}  // namespace

void wait_or_stop(milliseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (StopSignal::raised()) throw Stopped("cloud: stopped waiting after a signal");
    std::this_thread::sleep_for(std::min<Clock::duration>(milliseconds(50), end - Clock::now()));
  }
}

TpuNode bring_up(TpuApi& tpu, const std::string& project, const MachineRequest& request,
                 const Patience& patience) {
  require_name(request.name);
  for (const std::string& zone : request.zones) require_none(tpu, zone, request.name);
  std::vector<std::string> said;
  std::optional<std::pair<std::string, ApiFault>> refused;  // zone and error of the first refusal
  std::size_t refusals = 0;
  for (const std::string& zone : request.zones) {
    const Tried tried = ZoneTry(tpu, project, request, zone, patience).run();
    if (tried.node) return *tried.node;
    if (tried.refusal && !may_be_elsewhere(*tried.refusal))
      throw_fault(*tried.refusal, str(request.name, " in ", zone), project);
    if (tried.refusal && ++refusals == 1) refused.emplace(zone, *tried.refusal);
    said.push_back(str(zone, ": ", tried.why_not));
    patience.tell(said.back());
  }
  if (refused && refusals == request.zones.size())
    throw_fault(refused->second, str(request.name, " in ", refused->first), project);
  throw SystemError(
      str("cloud: no zone has a ", request.spec.accelerator_type, ": ", join(said, "; ")),
      "try other zones or another type, or try again later");
}

void enqueue(TpuApi& tpu, const std::string& project, const MachineRequest& request,
             const QueueSpec& queue, const Patience& patience) {
  const std::string& zone = request.zones.front();
  require_name(request.name);
  require_none(tpu, zone, request.name);
  const std::string what = str(request.name, " in ", zone);
  std::string hint = take_down_hint(request, zone);
  TpuApi::Begun begun;
  with_hint(what, hint, down_command(request.name, zone), [&] {
    std::string why;
    try {
      begun = tpu.enqueue(zone, request.name, request.spec, queue);
      if (!begun.fault || begun.fault->status < 500) return;
      why = begun.fault->message;
    } catch (const UsageError&) {  // refused: nothing is queued
      hint.clear();
      throw;
    } catch (const SystemError& error) {
      why = first_line(error.what());
    }
    if (!is_seen([&] { return tpu.queued_one(zone, request.name).has_value(); }, patience))
      throw SystemError(str("cloud: ", what, ": no response to the request: ", why));
    begun.fault.reset();
  });
  if (begun.fault) throw_fault(*begun.fault, what, project);
}

TpuNode wait_for_machine(TpuApi& tpu, const std::string& zone, const std::string& name,
                         const Patience& patience) {
  const std::string what = str(name, " in ", zone);
  PolledCall call(patience);
  std::string last_state;
  Found found;
  const bool ended = with_hint(what, queue_hint(name, zone), down_command(name, zone), [&] {
    return poll_until(
        patience,
        [&] {
          const auto answer =
              call.result([&] { return Found{tpu.node(zone, name), tpu.queued_one(zone, name)}; });
          if (!answer) return false;
          found = *answer;
          const bool by_queue = found.queued && (found.queued->state != "ACTIVE" || !found.node);
          const std::string state = by_queue     ? found.queued->state
                                    : found.node ? found.node->state
                                                 : "";
          if (state != last_state && !state.empty())
            patience.tell(str(zone, ": ", name, " is ", state));
          last_state = state;
          if (!found.node && !found.queued) return true;
          if (found.queued && found.queued->is_lost()) return true;
          return !by_queue && found.node && (found.node->is_lost() || found.node->state == "READY");
        },
        std::chrono::seconds(30));
  });
  if (!ended)
    throw SystemError(str("cloud: ", what, ": it is still ", last_state), queue_hint(name, zone));
  const bool is_going = found.queued && found.queued->is_lost();
  if (found.node && found.node->state == "READY" && !is_going) return *found.node;
  if (last_state.empty()) throw UsageError(str("cloud: there is no ", what), "smelt cloud list");
  const std::string fault = found.queued ? found.queued->fault : "";
  throw SystemError(str("cloud: ", what, ": it is ", last_state, fault.empty() ? "" : ": ", fault),
                    str(down_command(name, zone), " deletes the rest"));
}

ResourcesByZone find_everywhere(TpuApi& tpu, const std::string& name) {
  ResourcesByZone out;
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
                     str("choose one: --zone ", by_zone.begin()->first));
  if (!by_zone.empty()) return by_zone.begin()->second;
  const std::string silent =
      unreachable.empty() ? "" : str("; no response from ", join(unreachable, ", "));
  throw UsageError(str("cloud: there is no ", name, silent), "smelt cloud list");
}

void finish_switch(TpuApi& tpu, const std::string& project, const TpuNode& node,
                   const std::string& verb, const Patience& patience) {
  const std::string what = str(node.name, " in ", node.zone),
                    where = str(node.name, " --zone ", node.zone),
                    down = down_command(node.name, node.zone);
  const auto operation = tpu.begin_on(node.zone, node.name, verb.c_str());
  if (!operation) throw UsageError(str("cloud: there is no ", what), "smelt cloud list");
  with_hint(what, str("smelt cloud status ", where, " shows its state, ", down, " deletes it"),
            down, [&] {
              const auto progress = wait_for_operation(tpu, *operation, patience);
              if (!progress)
                throw SystemError(str("cloud: ", what, ": it did not ", verb, " in time"));
              if (progress->fault) throw_fault(*progress->fault, what, project);
            });
}

bool take_down(TpuApi& tpu, const std::string& project, const std::string& zone,
               const std::string& name, const Patience& patience) {
  const std::string what = str(name, " in ", zone);
  const std::string down = down_command(name, zone);
  return with_hint(what, down + " deletes it", down, [&] {
    // Deletes the queued resource together with its node; deleting only the node would leave it.
    std::optional<std::string> operation = tpu.dequeue(zone, name);
    // gcloud may have given the queued resource another name than the node.
    if (const auto node = operation ? std::nullopt : tpu.node(zone, name);
        node && !node->queued_resource.empty())
      operation = tpu.dequeue(zone, node->queued_resource);
    if (!operation) operation = tpu.remove(zone, name);
    if (!operation) return false;
    const auto progress = wait_for_operation(tpu, *operation, patience);
    if (progress && progress->fault) throw_fault(*progress->fault, what, project);
    if (!progress || tpu.node(zone, name) || tpu.queued_one(zone, name))
      throw SystemError(str("cloud: ", what, ": it is being deleted, but still exists"),
                        "smelt cloud list shows it");
    return true;
  });
}

}  // namespace smelt::cloud
