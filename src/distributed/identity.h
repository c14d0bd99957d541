// Finds the rank of this process and the size of its pod from flags, TPU variables and metadata,
// SLURM, or the variables of PyTorch launchers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "distributed/coordination_service.h"

namespace smelt::distributed {

struct PodIdentity {
  PodPlace place = {};  // a single process has size 1 and no address
  int slice = 0, slices = 1;
  std::string source = {};  // name of the source used; empty if none

  bool several() const { return place.size > 1; }
};

// The values of --processes, --process and --hub.
struct PodSettings {
  std::optional<std::int64_t> processes, process;
  std::string hub;

  bool any() const { return processes || process || !hub.empty(); }
};

// Access to this machine's environment, replaceable in tests.
struct ProcessEnvironment {
  std::function<std::string(const std::string& variable)> environment;  // returns "" if unset
  // Returns the value of instance/attributes/<name> from Google's metadata server, or nullopt if
  // the attribute or the server does not exist.
  std::function<std::optional<std::string>(const std::string& name)> metadata;
  bool has_tpu = false;      // if false, TPU sources are ignored
  bool has_devices = false;  // has a TPU or GPU; if false, SLURM and launchers are ignored
};

// One source of the identity, such as SLURM, and the values found in it.
struct IdentitySource {
  std::string name;
  std::vector<std::pair<std::string, std::string>> found;  // {name, value}
  std::vector<std::string> missing;                        // names that are required but not found
  std::string fault;                    // error message if the values found are invalid
  std::optional<PodIdentity> identity;  // set if complete and valid

  bool is_half() const { return !identity && !found.empty(); }
};

// Returns all sources, in order of precedence.
std::vector<IdentitySource> identity_sources(const PodSettings& words,
                                             const ProcessEnvironment& around);

// Returns the identity from the flags, or else from the first source that names several processes.
// Throws UsageError if a source is incomplete or invalid, or if two sources disagree. If the flags
// are used, all other sources are ignored, except that complete TPU sources must have the same
// number of processes.
PodIdentity identity_of(const std::vector<IdentitySource>& sources);

// Returns a description such as "process 1 of 4, rank 0 at t1v-w-0:8487, from SLURM's variables".
std::string identity_text(const PodIdentity& identity);

// Returns the first node of a SLURM node list: "n17" for "n[17-19,30],login".
std::string first_node(const std::string& list);

}  // namespace smelt::distributed
