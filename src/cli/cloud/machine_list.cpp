// Lists machines and their state.
#include <algorithm>
#include <ctime>
#include <iostream>

#include "base/error.h"
#include "base/json.h"
#include "base/stop_signal.h"
#include "cli/cloud/machine_price.h"
#include "cli/cloud/machine_verbs.h"
#include "cli/options/table.h"
#include "cloud/machines.h"
#include "cloud/whoami.h"

namespace smelt::cli {
namespace {

OrderedJson known(const std::string& text) {
  return text.empty() ? OrderedJson() : OrderedJson(text);
}

// Shortens a time: "2026-11-23T17:40:02.123456Z" -> "2026-11-23 17:40Z".
std::string minutes_of(const std::string& time) {
  if (time.size() < 16) return time;
  return str(time.substr(0, 10), " ", time.substr(11, 5), "Z");
}

OrderedJson json_of(const cloud::TpuNode& node) {
  return {{"name", node.name},
          {"zone", node.zone},
          {"type", node.accelerator_type},
          {"runtime_version", node.runtime_version},
          {"state", node.state},
          {"health", known(node.health)},
          {"spot", node.is_spot},
          {"lost", node.is_lost()},
          {"created", node.create_time},
          {"queued_resource", known(node.queued_resource)},
          {"addresses", node.addresses},
          {"external_addresses", node.external_addresses},
          {"labels", node.labels}};
}

OrderedJson json_of(const cloud::TpuQueued& queued) {
  return {
      {"name", queued.name},   {"zone", queued.zone},           {"type", queued.accelerator_type},
      {"state", queued.state}, {"created", queued.create_time}, {"fault", known(queued.fault)}};
}

void print_json(const cloud::TpuList<cloud::TpuNode>& nodes,
                const cloud::TpuList<cloud::TpuQueued>& queued) {
  OrderedJson out{{"nodes", OrderedJson::array()},
                  {"queued", OrderedJson::array()},
                  {"unreachable", nodes.unreachable}};
  for (const cloud::TpuNode& node : nodes.items) out["nodes"].push_back(json_of(node));
  for (const cloud::TpuQueued& each : queued.items) out["queued"].push_back(json_of(each));
  std::cout << out.dump() << "\n";
}

void print_lines(const cloud::TpuList<cloud::TpuNode>& nodes,
                 const cloud::TpuList<cloud::TpuQueued>& queued) {
  std::vector<std::vector<std::string>> rows{{"name", "zone", "type", "state", "since"}};
  for (const cloud::TpuNode& node : nodes.items)
    rows.push_back({node.name, node.zone, node.accelerator_type, node.state,
                    str(minutes_of(node.create_time), node.is_spot ? "  spot" : "")});
  for (const cloud::TpuQueued& each : queued.items)
    rows.push_back({each.name, each.zone, each.accelerator_type, each.state,
                    str(minutes_of(each.create_time), "  in the queue")});
  if (rows.size() > 1) print_table(rows);
  if (rows.size() == 1) std::cout << "no TPUs\n";
  for (const cloud::TpuNode& node : nodes.items)
    if (node.is_lost())
      std::cout << "note: " << node.name << " is lost and uses quota until it is deleted\n";
  for (const std::string& zone : nodes.unreachable)
    std::cout << "note: no answer from " << zone << ": the list may be incomplete\n";
}

// Returns the hours since the machine was created, or nullopt if its time cannot be parsed.
std::optional<double> hours_of(const cloud::TpuNode& node) {
  const double created = cloud::created_at(node);
  if (created == 0) return std::nullopt;
  return std::max(0.0, (static_cast<double>(std::time(nullptr)) - created) / 3600);
}

std::optional<MachinePrice> price_of(const cloud::TpuNode& node) {
  for (const cost_model::Accelerator& type : cost_model::accelerators())
    if (type.name == node.accelerator_type)
      return machine_price(cost_model::Prices(), type, node.zone, node.is_spot);
  return std::nullopt;
}

// The only state in which a machine costs money; stopped and lost machines do not.
constexpr const char* kReady = "READY";

void print_json(const cloud::Found& found) {
  OrderedJson out = OrderedJson::object();
  out["node"] = nullptr;
  out["queued"] = nullptr;
  if (found.queued) out["queued"] = json_of(*found.queued);
  if (found.node) {
    const auto hours = hours_of(*found.node);
    const auto price = price_of(*found.node);
    out["node"] = json_of(*found.node);
    out["hours"] = hours ? OrderedJson(*hours) : OrderedJson();
    out["dollars_an_hour"] = price ? OrderedJson(price->an_hour) : OrderedJson();
    out["price_date"] = price ? OrderedJson(price->price.date) : OrderedJson();
    const bool is_paid = price && hours && found.node->state == kReady;
    out["dollars"] = is_paid ? OrderedJson(price->an_hour * *hours) : OrderedJson();
  }
  std::cout << out.dump() << "\n";
}

void print_lines(const cloud::TpuNode& node) {
  std::cout << node.name << ": " << node.accelerator_type << (node.is_spot ? ", spot" : "")
            << ", in " << node.zone << ", " << node.runtime_version << "\nstate:   " << node.state
            << (node.health.empty() ? "" : ", " + node.health) << "\n";
  const auto hours = hours_of(node);
  const auto price = price_of(node);
  std::cout << "since:   " << minutes_of(node.create_time);
  if (hours) std::cout << ", " << dollars(*hours) << " hours";
  std::cout << "\ncost:    " << price_words(price);
  if (hours && price && node.state == kReady)
    std::cout << ", at most $" << dollars(*hours * price->an_hour) << " so far";
  std::cout << "\n";
  for (std::size_t i = 0; i < node.addresses.size(); ++i)
    std::cout << "worker " << i << ": " << node.addresses[i] << " " << node.external_addresses[i]
              << "\n";
  if (node.is_lost())
    std::cout << "note: it is lost and uses quota; delete it: smelt cloud down " << node.name
              << " --zone " << node.zone << "\n";
}

void print_lines(const cloud::TpuQueued& queued) {
  std::cout << queued.name << ": " << queued.accelerator_type << (queued.is_spot ? ", spot" : "")
            << ", in the queue of " << queued.zone << "\nstate:   " << queued.state
            << "\nsince:   " << minutes_of(queued.create_time) << "\n";
  if (!queued.fault.empty()) std::cout << "fault:   " << queued.fault << "\n";
  if (queued.is_lost())
    std::cout << "note: the request has failed; delete it: smelt cloud down " << queued.name
              << " --zone " << queued.zone << "\n";
}

}  // namespace

void list_machines(const MachineOptions& o) {
  cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
  cloud::TpuApi tpu(api, cloud::project_of(o.project, api));
  if (o.zone != cloud::kAllZones) tpu.require_zones({o.zone});
  const auto nodes = tpu.nodes(o.zone);
  const auto queued = tpu.queued(o.zone);
  o.json ? print_json(nodes, queued) : print_lines(nodes, queued);
}

void show_machine(const MachineOptions& o) {
  cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
  cloud::TpuApi tpu(api, cloud::project_of(o.project, api));
  cloud::Found found = cloud::find_machine(tpu, o.zone, o.name);
  if (o.wait) {
    const StopSignal signal("\nstopping: a second signal ends at once\n");
    const cloud::Patience patience{&cloud::wait_or_stop,
                                   [&](const std::string& line) { std::cerr << line << std::endl; },
                                   std::chrono::hours(24 * 366)};
    found.node = cloud::wait_for_machine(tpu, found.zone(), o.name, patience);
  }
  if (o.json) return print_json(found);
  if (found.node) return print_lines(*found.node);
  print_lines(*found.queued);
}

}  // namespace smelt::cli
