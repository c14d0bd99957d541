// Which process of a pod this one is, by flags, or by what the machine's surroundings say: a TPU's
// variables and metadata, SLURM, or what launchers of PyTorch set.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination_service.h"

namespace smelt {

struct PodIdentity {
  PodPlace place = {};  // of one process alone size 1 and no address
  int slice = 0, slices = 1;
  std::string source = {};  // which of the sources says so; empty: none

  bool several() const { return place.size > 1; }
};

// The flags of a command.
struct PodWords {
  std::optional<std::int64_t> processes, process;
  std::string hub;

  bool any() const { return processes || process || !hub.empty(); }
};

// What this machine is asked.
struct Surroundings {
  std::function<std::string(const std::string& variable)> environment;  // empty where it is not set
  // The value at instance/attributes/<name> of Google's metadata server; nullopt: it has none, or
  // there is no such server.
  std::function<std::optional<std::string>(const std::string& name)> metadata;
  bool has_tpu = false;      // else nothing that is said of TPUs counts
  bool has_devices = false;  // a TPU or GPU: the CPU's processes are known by flags alone
};

// One of the places that may say it.
struct IdentitySource {
  std::string name;
  std::vector<std::pair<std::string, std::string>> found;  // by name
  std::vector<std::string> missing;  // beside what was found; nothing was found: all that it needs
  std::string fault;                 // what is found makes no identity: a whole message
  std::optional<PodIdentity> identity;  // where it is whole

  bool is_half() const { return !identity && !found.empty(); }
};

// In their order.
std::vector<IdentitySource> identity_sources(const PodWords& words, const Surroundings& around);

// By the first source that names several processes. UsageError: one before it is half given, or
// another says otherwise.
PodIdentity identity_of(const std::vector<IdentitySource>& sources);

// "process 1 of 4, its hub at t1v-w-0:8487, by SLURM's variables".
std::string identity_text(const PodIdentity& identity);

// The first of SLURM's list of nodes: "n17" of "n[17-19,30],login".
std::string first_node(const std::string& list);

}  // namespace smelt
