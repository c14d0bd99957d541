// Creates, lists, starts, stops and deletes TPU machines.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace smelt::cli {

struct MachineOptions {
  std::string name, project;
  std::string zone;  // for `up`, a comma-separated list of zones
  std::string type, version, network, subnetwork, service_account;
  std::string reservation, valid_until;  // valid_until: a duration
  std::vector<std::string> labels, metadata;
  bool spot = false, reserved = false, queued = false, internal = false;
  bool dry_run = false, yes = false, no_wait = false, json = false, wait = false;
};

// Each function prints its result. Functions that change a machine also return the result as JSON.
// They throw the errors of the functions in cloud/machines.h.
OrderedJson bring_machine_up(const MachineOptions& o);
OrderedJson take_machine_down(const MachineOptions& o);
void show_machine(const MachineOptions& o);
void list_machines(const MachineOptions& o);
// Starts or stops an existing machine; `verb` is "start" or "stop".
OrderedJson switch_machine(const MachineOptions& o, const std::string& verb);

}  // namespace smelt::cli
