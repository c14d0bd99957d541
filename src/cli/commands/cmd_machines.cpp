#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/commands/commands.h"
#include "cli/commands/machine_verbs.h"
#include "cli/commands/project_flag.h"
#include "cli/options/json_output.h"
#include "cloud/tpu_api.h"

namespace smelt {
namespace {

void add_up(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("up", "create a TPU machine in the first zone with capacity");
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "of 1 to 63 a-z, 0-9 and '-'")->required();
  command->add_option("--type", o->type, "as v3-8; smelt cloud types names a zone's")->required();
  command->add_option("--zone", o->zone, "a list of zones to try in order, with commas")
      ->required();
  add_project_flag(*command, o->project);
  command->add_flag("--spot", o->spot, "cheaper, and may be taken away");
  command->add_flag("--reserved", o->reserved, "of what the project has reserved");
  command->add_flag("--queued", o->queued, "wait in the zone's queue until there is one");
  command->add_option("--valid-until", o->valid_until,
                      "how long it may stand in the queue, as 6h or 2d; default: until it comes");
  command->add_option("--reservation", o->reservation, "the one that a queued machine is of");
  command->add_flag("--no-wait", o->no_wait, "leave it in the queue and end");
  command->add_option("--runtime-version", o->version, "default: the type's own");
  command->add_option("--network", o->network, "default: the project's");
  command->add_option("--subnetwork", o->subnetwork, "default: the network's");
  command->add_option("--service-account", o->service_account,
                      "that programs on it have; default: the project's");
  command->add_option("--label", o->labels, "NAME=VALUE; may be given several times");
  command->add_option("--metadata", o->metadata, "NAME=VALUE; may be given several times");
  command->add_flag("--internal-ips", o->internal, "no address that the internet reaches");
  command->add_flag("--dry-run", o->dry_run, "show price and request, and make nothing");
  command->add_flag("--yes", o->yes, "make it without asking");
  add_json_flag(*command, o->json);
  command->callback([o] { print_result(o->json, [&] { return bring_machine_up(*o); }); });
}

void add_down(CLI::App& cloud) {
  auto* command = cloud.add_subcommand(
      "down", "delete a TPU machine or its queued request, and wait until it is gone");
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "as smelt cloud list shows it")->required();
  command->add_option("--zone", o->zone, "where it is")->required();
  add_project_flag(*command, o->project);
  command->add_flag("--yes", o->yes, "delete it without asking");
  add_json_flag(*command, o->json);
  command->callback([o] { print_result(o->json, [&] { return take_machine_down(*o); }); });
}

void add_status(CLI::App& cloud) {
  auto* command =
      cloud.add_subcommand("status", "show the state and cost of a machine or queued request");
  auto o = std::make_shared<MachineOptions>();
  o->zone = kAllZones;
  command->add_option("name", o->name, "as smelt cloud list shows it")->required();
  command->add_option("--zone", o->zone, "where it is; default: wherever it is");
  add_project_flag(*command, o->project);
  command->add_flag("--wait", o->wait, "until it is READY");
  command->add_flag("--json", o->json, "one JSON object instead of lines");
  command->callback([o] { show_machine(*o); });
}

void add_switch(CLI::App& cloud, const std::string& verb, const std::string& help) {
  auto* command = cloud.add_subcommand(verb, help);
  auto o = std::make_shared<MachineOptions>();
  command->add_option("name", o->name, "as smelt cloud list shows it")->required();
  command->add_option("--zone", o->zone, "where it is")->required();
  add_project_flag(*command, o->project);
  add_json_flag(*command, o->json);
  command->callback([o, verb] { print_result(o->json, [&] { return switch_machine(*o, verb); }); });
}

}  // namespace

void add_machine_commands(CLI::App& cloud) {
  add_up(cloud);
  add_status(cloud);
  add_switch(cloud, "stop", "halt a machine, which costs its disk alone until it is started");
  add_switch(cloud, "start", "start a machine that was stopped, and wait for it");
  add_down(cloud);
}

}  // namespace smelt
