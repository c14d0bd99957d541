#include "cloud/job_journal.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/choice.h"
#include "base/error.h"

namespace smelt::cloud {
namespace {

constexpr const char* kFormat = "smelt cloud job 1";
constexpr NamedValues<JobStep, 8> kSteps{{{"stage", JobStep::stage},
                                          {"machine", JobStep::machine},
                                          {"install", JobStep::install},
                                          {"train", JobStep::train},
                                          {"stop", JobStep::stop},
                                          {"clean", JobStep::clean},
                                          {"collect", JobStep::collect},
                                          {"ended", JobStep::ended}}};

// The fields of a JobSpec, for reading and writing.
template <class Spec, class Visit>
void visit_spec(Spec& s, const Visit& visit) {
  visit("run", s.run);
  visit("project", s.project);
  visit("type", s.node.accelerator_type);
  visit("runtime_version", s.node.runtime_version);
  visit("spot", s.node.spot);
  visit("network", s.node.network);
  visit("subnetwork", s.node.subnetwork);
  visit("external_ips", s.node.external_ips);
  visit("service_account", s.node.service_account);
  visit("queued", s.queued);
  visit("folder", s.folder);
  visit("user", s.user);
  visit("command", s.command);
  visit("package", s.package);
  visit("package_sha256", s.package_sha256);
  visit("setup", s.setup);
  visit("budget", s.budget);
  visit("until", s.until);
  visit("attempts", s.attempts);
  visit("silence", s.silence);
  visit("patience", s.patience);
  visit("turn", s.turn);
}

template <class Machine, class Visit>
void visit_machine(Machine& m, const Visit& visit) {
  visit("zone", m.zone);
  visit("operation", m.operation);
  visit("dollars_an_hour", m.dollars_an_hour);
  visit("asked", m.asked);
  visit("paid_from", m.paid_from);
  visit("gone", m.gone);
  visit("deadline", m.deadline);
  visit("seen", m.seen);
  visit("shown", m.shown);
  visit("stays", m.stays);
}

template <class Journal, class Visit>
void visit_journal(Journal& j, const Visit& visit) {
  visit("owner", j.owner);
  visit("zone", j.zone);
  visit("not_before", j.not_before);
  visit("starts", j.starts);
  visit("fruitless", j.fruitless);
  visit("refusals", j.refusals);
  visit("stop_since", j.stop_since);
  visit("log_end", j.log_end);
  visit("outcome", j.outcome);
  visit("why", j.why);
}

struct Put {
  OrderedJson& to;
  template <class Value>
  void operator()(const char* name, const Value& value) const {
    to[name] = value;
  }
};

// Returns whether journals of earlier versions lack the field, which then keeps its default.
bool is_later(std::string_view name) { return name == "turn" || name == "stays"; }

struct Take {
  const Json& from;
  template <class Value>
  void operator()(const char* name, Value& value) const {
    if (from.contains(name) || !is_later(name)) value = from.at(name).get<Value>();
  }
};

JobJournal read_journal(const Json& all) {
  JobJournal j;
  visit_spec(j.spec, Take{all.at("spec")});
  if (j.spec.package_sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
    throw JsonError(str("package_sha256 is '", j.spec.package_sha256, "', expected a SHA-256"));
  // Earlier versions of smelt could write a zone twice.
  for (const Json& zone : all.at("spec").at("zones"))
    if (const auto name = zone.at("name").get<std::string>();
        std::ranges::find(j.spec.zones, name, &JobSpec::Zone::name) == j.spec.zones.end())
      j.spec.zones.push_back({name, zone.at("dollars_an_hour").get<double>()});
  visit_journal(j, Take{all});
  if (j.zone >= j.spec.zones.size()) j.zone = 0;
  j.step = choose_of("step", all.at("step").get<std::string>(), kSteps);
  if (!all.at("progress").is_null()) j.progress = all.at("progress").get<std::int64_t>();
  for (const Json& machine : all.at("machines"))
    visit_machine(j.machines.emplace_back(), Take{machine});
  return j;
}

}  // namespace

std::string machine_name(const JobSpec& spec) { return "smelt-" + spec.run; }

const char* word_of(JobStep step) { return smelt::word_of(step, kSteps).data(); }

double paid_until(const JobMachine& machine, double now) {
  constexpr double kGuardTakes = 600;
  if (machine.gone > 0) return machine.gone;
  if (machine.stays) return now;
  return std::min(now, std::max({machine.asked, machine.seen, machine.deadline + kGuardTakes}));
}

double dollars_so_far(const JobJournal& journal, double now) {
  double sum = 0;
  for (const JobMachine& m : journal.machines)
    if (m.paid_from > 0)
      sum += std::max(0.0, paid_until(m, now) - m.paid_from) / 3600 * m.dollars_an_hour;
  return sum;
}

double seconds_left(const JobJournal& journal, double now, double at_least) {
  constexpr double kLast = 240;  // a minute to save, three to delete
  const JobSpec& spec = journal.spec;
  const JobMachine* there = journal.there();
  const double rate = there == nullptr ? 0 : there->dollars_an_hour;
  double left = std::max(spec.silence, at_least);
  if (rate > 0)
    left = std::min(left, (spec.budget - dollars_so_far(journal, now)) / rate * 3600 - kLast);
  if (spec.until > 0) left = std::min(left, spec.until - now - kLast);
  return std::max(left, 0.0);
}

OrderedJson json_of(const JobJournal& j) {
  OrderedJson spec = OrderedJson::object(), all{{"format", kFormat}};
  visit_spec(j.spec, Put{spec});
  spec["zones"] = OrderedJson::array();
  for (const JobSpec::Zone& zone : j.spec.zones)
    spec["zones"].push_back({{"name", zone.name}, {"dollars_an_hour", zone.dollars_an_hour}});
  all["spec"] = spec;
  all["step"] = word_of(j.step);
  all["progress"] = j.progress ? OrderedJson(*j.progress) : OrderedJson();
  visit_journal(j, Put{all});
  all["machines"] = OrderedJson::array();
  for (const JobMachine& machine : j.machines) {
    OrderedJson one = OrderedJson::object();
    visit_machine(machine, Put{one});
    all["machines"].push_back(one);
  }
  return all;
}

JobJournal parse_journal(const std::string& text, const std::string& where) {
  constexpr const char* kHint = "only smelt cloud run writes this file; give another folder";
  const Json all = Json::parse_or_discard(text);
  if (!all.is_object() || all.value("format", Json()) != kFormat)
    throw UsageError(str(where, ": not a '", kFormat, "' file"), kHint);
  try {
    return read_journal(all);
  } catch (const JsonError& error) {
    throw UsageError(str(where, ": damaged: ", error.what()), kHint);
  }
}

}  // namespace smelt::cloud
