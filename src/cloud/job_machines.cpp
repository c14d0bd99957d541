#include "cloud/job_machines.h"

#include <algorithm>

#include "base/error.h"
#include "cloud/tpu_fault.h"

namespace smelt::cloud {
namespace {

constexpr double kSettles = 120;        // seconds until an accepted request is visible
constexpr double kComesUpIn = 30 * 60;  // seconds to become READY; after that it is deleted
constexpr double kLongestRest = 600;    // seconds between rounds through all zones
constexpr int kLooksAtNothing = 2;

bool is_halted(const std::string& state) { return state == "STOPPED" || state == "STOPPING"; }

}  // namespace

bool JobMachines::Seen::is_going() const {
  const bool node_goes = !node || node->state == "DELETING";
  return node_goes && (!queued || queued->state == "DELETING");
}

bool JobMachines::Seen::is_good() const {
  if (queued && (queued->is_lost() || queued->state == "DELETING")) return false;
  if (!node) return queued.has_value();
  return !node->is_lost() && !is_halted(node->state) && node->state != "DELETING";
}

JobMachines::Seen JobMachines::look_in(const std::string& zone) {
  const std::string name = machine_name(journal_.spec);
  Seen seen{zone, tools_.tpu.node(zone, name), std::nullopt};
  if (journal_.spec.queued) seen.queued = tools_.tpu.queued_one(zone, name);
  if (JobMachine* machine = journal_.there(); machine != nullptr && machine->zone == zone)
    note(*machine, seen);
  return seen;
}

// Updates the billing times of the machine.
void JobMachines::note(JobMachine& machine, const Seen& seen) const {
  if (seen.node && !seen.node->is_lost()) machine.seen = tools_.now();
  if (machine.paid_from > 0) return;
  if (seen.node)
    machine.paid_from = std::clamp(created_at(*seen.node), machine.asked, tools_.now());
  else if (seen.is_good())
    machine.asked = tools_.now();
}

// Returns the job's zones, with that of the current machine first.
std::vector<std::string> JobMachines::zones() const {
  std::vector<std::string> out;
  for (const JobSpec::Zone& zone : journal_.spec.zones) out.push_back(zone.name);
  if (const JobMachine* machine = journal_.there())
    std::ranges::stable_partition(out,
                                  [&](const std::string& zone) { return zone == machine->zone; });
  return out;
}

// Returns the job's machines in all its zones. If the current machine is good, ignores zones that
// do not respond, so that the machine does not wait for them and cost money meanwhile.
std::vector<JobMachines::Seen> JobMachines::look() {
  std::vector<Seen> out;
  const auto has_good = [&] {
    const JobMachine* machine = journal_.there();
    return machine != nullptr && !out.empty() && out[0].zone == machine->zone && out[0].is_good();
  };
  for (const std::string& zone : zones()) {
    try {
      if (Seen seen = look_in(zone); seen.is_there()) out.push_back(std::move(seen));
    } catch (const SystemError&) {
      if (!has_good()) throw;
    }
  }
  return out;
}

// Deletes the job's machines zone by zone, so that those in the first zones are deleted even if a
// later zone does not respond. Returns whether there were any.
bool JobMachines::drop_all() {
  bool some = false;
  for (const std::string& zone : zones())
    if (const Seen seen = look_in(zone); seen.is_there()) some = drop({seen}, nullptr) || some;
  return some;
}

double JobMachines::rate_in(const std::string& zone) const {
  for (const JobSpec::Zone& each : journal_.spec.zones)
    if (each.name == zone) return each.dollars_an_hour;
  return 0;
}

// Throws if another process leads the job. Must be called before a deletion, because the new
// leader's machine has the same name. Does nothing if the bucket does not respond.
void JobMachines::require_lead_if_known() const {
  try {
    tools_.require_lead();
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
  }
}

// Deletes the machines in `all` except `kept`. Returns whether there were any to delete.
bool JobMachines::drop(const std::vector<Seen>& all, const Seen* kept) {
  const std::string name = machine_name(journal_.spec);
  bool some = false;
  for (const Seen& seen : all) {
    if (&seen == kept) continue;
    some = true;
    if (seen.is_going()) continue;
    const std::string state = seen.node ? seen.node->state : seen.queued->state;
    require_lead_if_known();
    tools_.tell(str(seen.zone, ": ", name, " is ", state, "; deleting it"));
    // Deleting a queued resource also deletes its node.
    if (!seen.queued || !tools_.tpu.dequeue(seen.zone, name)) tools_.tpu.remove(seen.zone, name);
  }
  return some;
}

// Records that the machine is gone. A queued one may have existed without being seen.
void JobMachines::close() {
  JobMachine* machine = journal_.there();
  if (machine == nullptr) return;
  if (machine->paid_from == 0) machine->paid_from = machine->asked;
  machine->gone = paid_until(*machine, tools_.now());
  unseen_ = 0;
  tools_.save();
}

// Records that no machine was created, and moves on to the next zone.
void JobMachines::forget(const std::string& why) {
  tools_.tell(str(journal_.machines.back().zone, ": ", why));
  journal_.machines.pop_back();
  if (++journal_.zone >= journal_.spec.zones.size()) {
    journal_.zone = 0;
    const double rest = 30.0 * (1 << std::min(journal_.refusals, 5));
    journal_.not_before = tools_.now() + std::min(rest, kLongestRest);
    ++journal_.refusals;
  }
  tools_.save();
}

void JobMachines::refuse(const ApiFault& fault) {
  const TpuFault kind = kind_of(fault);
  if (kind == TpuFault::capacity) return forget("no capacity");
  if (kind == TpuFault::quota) return forget("no quota: " + fault.message);
  // The machine exists or is being deleted, or the server did not decide. Look again.
  if (kind == TpuFault::exists || kind == TpuFault::rate || fault.status >= 500) return;
  // An operation has ended with a temporary error, so no machine was created.
  if (kind == TpuFault::passing) return forget(fault.message);
  const std::string zone = journal_.machines.back().zone;
  journal_.machines.pop_back();
  tools_.save();
  throw_fault(fault, str(machine_name(journal_.spec), " in ", zone), journal_.spec.project);
}

void JobMachines::ask() {
  const JobSpec& spec = journal_.spec;
  if (journal_.there() == nullptr) {
    if (tools_.now() < journal_.not_before) return;
    const std::string zone = spec.zones.at(journal_.zone).name;
    const double now = tools_.now();
    journal_.machines.push_back({.zone = zone,
                                 .operation = "",
                                 .dollars_an_hour = rate_in(zone),
                                 .asked = now,
                                 .paid_from = spec.queued ? 0 : now});
    tools_.tell(str(zone, ": ", machine_name(spec), " is requested"));
  }
  JobMachine& machine = journal_.machines.back();
  machine.asked = tools_.now();  // also for a repeated request
  machine.deadline = machine.asked + std::max(spec.silence, kComesUpIn);
  tools_.save();  // before the request, so that the next leader finds the machine
  // With several zones Google expires the request after `turn` (state FAILED), even without a
  // leader. With a single zone it keeps its place in the queue.
  const QueueSpec queue{
      "", std::chrono::seconds(spec.zones.size() > 1 ? static_cast<long long>(spec.turn) : 0)};
  NodeSpec node = spec.node;
  node.labels[kRunLabel] = spec.run;
  // The supervisor can reach the machine only once it is READY, so the machine's self-deletion
  // timer starts with at least kComesUpIn, even if --silence is shorter.
  node.metadata["startup-script"] =
      startup_(machine.zone, seconds_left(journal_, tools_.now(), kComesUpIn));
  TpuApi::Begun begun;
  tools_.require_lead();
  try {
    const std::string name = machine_name(spec);
    begun = spec.queued ? tools_.tpu.enqueue(machine.zone, name, node, queue)
                        : tools_.tpu.create(machine.zone, name, node);
  } catch (const Stopped&) {
    throw;
  } catch (const SystemError&) {
    return;  // no response: the request is repeated under the same name
  }
  if (begun.fault) return refuse(*begun.fault);
  machine.operation = begun.operation;
  tools_.save();
}

// Counts one more query that did not find the machine. Returns true after kLooksAtNothing in a row:
// the API's lists may lag behind, so one query is not enough.
bool JobMachines::is_unseen() {
  if (++unseen_ < kLooksAtNothing) return false;
  tools_.tell(str(journal_.machines.back().zone, ": ", machine_name(journal_.spec), " is gone"));
  return true;
}

// Handles a machine that was requested and is not visible.
void JobMachines::settle() {
  JobMachine& machine = journal_.machines.back();
  if (machine.shown) {
    if (is_unseen()) close();
    return;
  }
  if (machine.operation.empty()) return ask();
  const TpuApi::Progress progress = tools_.tpu.progress(machine.operation);
  if (!progress.done) return;
  if (progress.fault) {
    machine.operation.clear();
    return refuse(*progress.fault);
  }
  // A new machine may take a while to become visible.
  if (tools_.now() - machine.asked >= kSettles && is_unseen()) close();
}

std::optional<TpuNode> JobMachines::await(const Seen& kept) {
  JobMachine* machine = journal_.there();
  const double now = tools_.now();
  if (machine != nullptr && machine->zone != kept.zone) {
    close();
    machine = nullptr;
  }
  if (machine == nullptr) {  // created by an earlier process whose journal was lost
    const double made = kept.node ? created_at(*kept.node) : 0;
    journal_.machines.push_back({.zone = kept.zone,
                                 .operation = "",
                                 .dollars_an_hour = rate_in(kept.zone),
                                 .asked = now,
                                 .paid_from = made > 0    ? std::min(made, now)
                                              : kept.node ? now
                                                          : 0});
    tools_.save();
    machine = journal_.there();
  }
  unseen_ = 0;
  machine->shown = true;
  machine->deadline = now + std::max(journal_.spec.silence, kComesUpIn);
  if (!kept.node) return std::nullopt;
  const bool is_active = !kept.queued || kept.queued->state == "ACTIVE";
  if (is_active && kept.node->state == "READY") {
    journal_.refusals = 0;
    return kept.node;
  }
  if (now - std::max(machine->asked, machine->paid_from) > kComesUpIn) drop({kept}, nullptr);
  return std::nullopt;
}

// Forgets the expected machine if its queued resource has failed and will never become a machine.
void JobMachines::take_failures(const std::vector<Seen>& all) {
  for (const Seen& seen : all) {
    const JobMachine* machine = journal_.there();
    const bool is_expected = machine != nullptr && machine->zone == seen.zone;
    if (is_expected && !seen.node && seen.queued->state == "FAILED")
      forget("in the queue: " + seen.queued->fault);
  }
}

std::optional<TpuNode> JobMachines::seek() {
  const auto all = look();
  take_failures(all);
  const Seen* kept = nullptr;
  for (const Seen& seen : all) {
    const JobMachine* expected = journal_.there();
    const bool is_expected = expected != nullptr && expected->zone == seen.zone;
    if (seen.is_good() && (kept == nullptr || is_expected)) kept = &seen;
  }
  if (drop(all, kept)) return std::nullopt;
  if (kept != nullptr) return await(*kept);
  journal_.there() != nullptr ? settle() : ask();
  return std::nullopt;
}

std::optional<TpuNode> JobMachines::current() {
  const JobMachine* machine = journal_.there();
  if (machine == nullptr) return std::nullopt;
  const Seen seen = look_in(machine->zone);
  if (seen.is_there())
    unseen_ = 0;
  else if (is_unseen())
    close();
  else
    throw SystemError(str(machine_name(journal_.spec), " in ", seen.zone, " was not found"));
  return seen.node && seen.is_good() ? seen.node : std::nullopt;
}

void JobMachines::remove() {
  if (const JobMachine* machine = journal_.there()) {
    const Seen seen = look_in(machine->zone);
    if (seen.is_there()) drop({seen}, nullptr);
  }
}

void JobMachines::drop_strays() {
  const JobMachine* machine = journal_.there();
  for (const std::string& zone : zones())
    if (machine != nullptr && zone != machine->zone)
      if (const Seen seen = look_in(zone); seen.is_there()) drop({seen}, nullptr);
}

bool JobMachines::clear() {
  if (drop_all()) {
    unseen_ = 0;
    return false;
  }
  const JobMachine* machine = journal_.there();
  if (machine != nullptr) {
    // A requested machine may still appear.
    if (!machine->shown && tools_.now() - machine->asked < kSettles) return false;
    if (!is_unseen()) return false;
    close();
  }
  const auto rest = left();
  if (rest.empty()) return true;
  throw SystemError(str("some resources of the job are not deleted: ", join(rest, ", ")));
}

std::vector<std::string> JobMachines::left() {
  std::vector<std::string> out;
  const std::string name = machine_name(journal_.spec);
  const auto nodes = tools_.tpu.nodes(kAllZones);
  const auto queue = tools_.tpu.queued(kAllZones);
  for (const TpuNode& node : nodes.items) {
    const auto label = node.labels.find(kRunLabel);
    const bool is_ours = label != node.labels.end() && label->second == journal_.spec.run;
    if (is_ours || node.name == name) out.push_back(str(node.name, " in ", node.zone));
  }
  for (const TpuQueued& queued : queue.items)
    if (queued.name == name) out.push_back(str(queued.name, " in the queue of ", queued.zone));
  const auto is_in = [](const std::vector<std::string>& silent, const std::string& zone) {
    return std::ranges::find(silent, zone) != silent.end();
  };
  for (const JobSpec::Zone& zone : journal_.spec.zones)
    if (is_in(nodes.unreachable, zone.name) || is_in(queue.unreachable, zone.name))
      out.push_back(str("unknown resources in ", zone.name, ", which does not respond"));
  return out;
}

}  // namespace smelt::cloud
