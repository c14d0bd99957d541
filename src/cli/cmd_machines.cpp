#include "cli/cmd_machines.h"

#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/stop_signal.h"
#include "cloud/machines.h"
#include "cloud/whoami.h"
#include "console/agreement.h"
#include "plan/accelerator.h"
#include "plan/prices.h"

namespace smelt {
namespace {

struct MachineOptions {
  std::string name, zones, type, version, project, network, subnetwork, service_account;
  std::vector<std::string> labels;
  bool spot = false, internal = false, dry_run = false, yes = false;
};

// "us-central1-b" -> "us-central1"
std::string region_of(const std::string& zone) { return zone.substr(0, zone.rfind('-')); }

std::string price_words(const Accelerator& type, const std::string& zone, bool spot) {
  const Prices prices;
  const Price* price = prices.find(type.generation, region_of(zone));
  const auto per_chip = price == nullptr ? std::nullopt : spot ? price->spot : price->on_demand;
  if (!per_chip) return "price not known";
  std::ostringstream out;
  out << "$" << std::fixed << std::setprecision(2) << *per_chip * type.chips << " an hour (of "
      << price->date << ")";
  return out.str();
}

std::map<std::string, std::string> labels_of(const std::vector<std::string>& items) {
  std::map<std::string, std::string> out;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError(str("--label: '", item, "' is no NAME=VALUE"), "as --label team=nlp");
    out[item.substr(0, equals)] = item.substr(equals + 1);
  }
  return out;
}

std::string version_of(const MachineOptions& o, const Accelerator& type) {
  if (o.version == "tpu-vm-base")
    throw UsageError("--runtime-version: tpu-vm-base is Ubuntu 20.04, which smelt does not run on",
                     str("--runtime-version ", type.image));
  return o.version.empty() ? type.image : o.version;
}

MachineRequest request_of(const MachineOptions& o, const Accelerator& type) {
  MachineRequest request{o.name, {}, {}};
  for (const std::string_view zone : split(o.zones, ',')) request.zones.emplace_back(trim(zone));
  for (const std::string& zone : request.zones) require_zone(zone);
  request.spec = {.accelerator_type = type.name,
                  .runtime_version = version_of(o, type),
                  .spot = o.spot,
                  .network = o.network,
                  .subnetwork = o.subnetwork,
                  .external_ips = !o.internal,
                  .service_account = o.service_account,
                  .labels = labels_of(o.labels)};
  require_name(o.name);
  return request;
}

Patience told_patience() {
  return {&wait_or_stop, [](const std::string& line) { std::cout << line << std::endl; }};
}

void run_up(const MachineOptions& o) {
  const auto types = find_accelerators("--type", o.type);
  if (types.size() != 1) throw UsageError("--type: one is made at a time", "name one type");
  const Accelerator& type = types.front();
  const MachineRequest request = request_of(o, type);
  GoogleApi api{TokenSource(google_credentials())};
  const std::string project = project_of(o.project, api);
  std::cout << request.name << ": " << type.name << (o.spot ? ", spot" : "") << ", "
            << request.spec.runtime_version << ", project " << project << "\n";
  for (const std::string& zone : request.zones)
    std::cout << "  " << zone << ": " << price_words(type, zone, o.spot) << "\n";
  if (o.dry_run) {
    std::cout << node_body(request.spec).dump() << "\n";
    return;
  }
  if (!o.yes && !is_agreed_to("make it?")) {
    std::cout << "nothing was made; --yes makes it\n";
    return;
  }
  const StopSignal signal("\nstopping: a second signal ends at once\n");
  TpuApi tpu(api, project);
  const TpuNode node = bring_up(tpu, project, request, told_patience());
  std::cout << node.zone << ": " << node.name << " is " << node.state << "\n";
  for (std::size_t i = 0; i < node.addresses.size(); ++i)
    std::cout << "  worker " << i << ": " << node.addresses[i] << " " << node.external_addresses[i]
              << "\n";
  std::cout << "when done: smelt cloud down " << node.name << " --zone " << node.zone << "\n";
}

void run_down(const MachineOptions& o) {
  require_zone(o.zones);
  GoogleApi api{TokenSource(google_credentials())};
  const std::string project = project_of(o.project, api);
  TpuApi tpu(api, project);
  const auto node = tpu.node(o.zones, o.name);
  if (!node) {
    std::cout << "there is no " << o.name << " in " << o.zones << "\n";
    return;
  }
  std::cout << node->name << ": " << node->accelerator_type << " in " << o.zones << ", "
            << node->state << "\n";
  if (!o.yes && !is_agreed_to("delete it?")) {
    std::cout << "nothing was deleted; --yes deletes it\n";
    return;
  }
  const StopSignal signal("\nstopping: it is being deleted all the same\n");
  take_down(tpu, project, o.zones, o.name, told_patience());
  std::cout << "deleted\n";
}

}  // namespace

void add_up_command(CLI::App& cloud) {
  auto* command = cloud.add_subcommand("up", "make a TPU machine, in the first zone that has one");
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "of 1 to 63 a-z, 0-9 and '-'")->required();
  command->add_option("--type", o->type, "as v3-8; smelt cloud types names a zone's")->required();
  command->add_option("--zone", o->zones, "a list of zones to try in order, with commas")
      ->required();
  command->add_option("--project", o->project, "default: the one that smelt cloud whoami names");
  command->add_flag("--spot", o->spot, "cheaper, and may be taken away");
  command->add_option("--runtime-version", o->version, "default: the type's own");
  command->add_option("--network", o->network, "default: the project's");
  command->add_option("--subnetwork", o->subnetwork, "default: the network's");
  command->add_option("--service-account", o->service_account,
                      "that programs on it have; default: the project's");
  command->add_option("--label", o->labels, "NAME=VALUE; may be given several times");
  command->add_flag("--internal-ips", o->internal, "no address that the internet reaches");
  command->add_flag("--dry-run", o->dry_run, "show price and request, and make nothing");
  command->add_flag("--yes", o->yes, "make it without asking");
  command->callback([o] { run_up(*o); });
}

void add_down_command(CLI::App& cloud) {
  auto* command = cloud.add_subcommand("down", "delete a TPU machine, and wait until it is gone");
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "as smelt cloud list shows it")->required();
  command->add_option("--zone", o->zones, "where it is")->required();
  command->add_option("--project", o->project, "default: the one that smelt cloud whoami names");
  command->add_flag("--yes", o->yes, "delete it without asking");
  command->callback([o] { run_down(*o); });
}

}  // namespace smelt
