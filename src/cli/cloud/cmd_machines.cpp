#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/machine_verbs.h"
#include "cli/cloud/project_flag.h"
#include "cli/options/json_output.h"
#include "cloud/tpu_api.h"

namespace smelt::cli {
namespace {

void add_up(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("up", "create a TPU machine in the first zone with capacity");
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "name of the machine: 1 to 63 characters a-z, 0-9 and '-'")
      ->required();
  command
      ->add_option("--type", o->type,
                   "TPU type, such as v3-8; smelt cloud types lists those of a zone")
      ->required();
  command->add_option("--zone", o->zone, "zones to try in order, separated by commas")->required();
  add_project_flag(*command, o->project);
  command->add_flag("--spot", o->spot, "use a spot machine: cheaper, but may be preempted");
  command->add_flag("--reserved", o->reserved, "use the project's reserved capacity");
  command->add_flag("--queued", o->queued,
                    "request the machine through the zone's queue and wait for it");
  command->add_option("--valid-until", o->valid_until,
                      "maximum time in the queue, such as 6h or 2d; default: no limit");
  command->add_option("--reservation", o->reservation, "reservation of a queued machine");
  command->add_flag("--no-wait", o->no_wait, "return at once and leave the request in the queue");
  command->add_option("--runtime-version", o->version,
                      "runtime version; default: that of the type");
  command->add_option("--network", o->network,
                      "VPC network; default: the project's default network");
  command->add_option("--subnetwork", o->subnetwork, "subnetwork; default: that of the network");
  command->add_option(
      "--service-account", o->service_account,
      "service account of the machine; default: the project's default service account");
  command->add_option("--label", o->labels, "label NAME=VALUE; may be given several times");
  command->add_option("--metadata", o->metadata, "metadata NAME=VALUE; may be given several times");
  command->add_flag("--internal-ips", o->internal,
                    "create the machine without external IP addresses");
  command->add_flag("--dry-run", o->dry_run, "show price and request without creating anything");
  command->add_flag("--yes", o->yes, "create it without a confirmation prompt");
  add_json_flag(*command, o->json);
  command->callback([o] { print_result(o->json, [&] { return bring_machine_up(*o); }); });
}

void add_down(CLI::App& cloud) {
  auto* command = cloud.add_subcommand(
      "down", "delete a TPU machine or its queued request, and wait until it is gone");
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "name of the machine, as in smelt cloud list")->required();
  command->add_option("--zone", o->zone, "zone of the machine")->required();
  add_project_flag(*command, o->project);
  command->add_flag("--yes", o->yes, "delete it without a confirmation prompt");
  add_json_flag(*command, o->json);
  command->callback([o] { print_result(o->json, [&] { return take_machine_down(*o); }); });
}

void add_status(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("status", "show the state and cost of a machine or queued request");
  auto o = std::make_shared<MachineOptions>();
  o->zone = cloud::kAllZones;
  command->add_option("name", o->name, "name of the machine, as in smelt cloud list")->required();
  command->add_option("--zone", o->zone, "zone of the machine; default: search all zones");
  add_project_flag(*command, o->project);
  command->add_flag("--wait", o->wait, "wait until it is READY");
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
  command->callback([o] { show_machine(*o); });
}

void add_switch(CLI::App& cloud, const std::string& verb, const std::string& help) {
  auto* command = cloud.add_subcommand(verb, help);
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "name of the machine, as in smelt cloud list")->required();
  command->add_option("--zone", o->zone, "zone of the machine")->required();
  add_project_flag(*command, o->project);
  add_json_flag(*command, o->json);
  command->callback([o, verb] { print_result(o->json, [&] { return switch_machine(*o, verb); }); });
}

}  // namespace

void add_machine_commands(CLI::App& cloud) {
  add_up(cloud);
  add_status(cloud);
  add_switch(cloud, "stop", "stop a machine; only its disk costs money until it is started again");
  add_switch(cloud, "start", "start a stopped machine, and wait until it is ready");
  add_down(cloud);
}

}  // namespace smelt::cli
