#include "cli/cmd_pod.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "console/form_flags.h"
#include "console/pod_flags.h"

namespace smelt {
namespace {

struct DescribeFlags {
  PodWords pod;
  std::string device = "auto";
  bool json = false;
};

std::string state_of(const IdentitySource& source) {
  if (!source.fault.empty()) return source.fault;
  std::vector<std::string> found;
  for (const auto& [name, value] : source.found) found.push_back(str(name, " ", value));
  const std::string there = join(found, ", ");
  const std::string missing = join(source.missing, ", ");
  if (source.is_half()) return str(there, "; missing: ", missing);
  if (!source.identity) return str("nothing (", missing, ")");
  const PodPlace& place = source.identity->place;
  return str(there, ": process ", place.rank, " of ", place.size);
}

nlohmann::ordered_json source_json(const IdentitySource& source) {
  nlohmann::ordered_json out{{"name", source.name},
                             {"found", nlohmann::ordered_json::object()},
                             {"missing", source.missing}};
  for (const auto& [name, value] : source.found) out["found"][name] = value;
  if (source.identity)
    out.update(
        {{"process", source.identity->place.rank}, {"processes", source.identity->place.size}});
  if (!source.fault.empty()) out["fault"] = source.fault;
  return out;
}

nlohmann::ordered_json describe_json(const std::vector<IdentitySource>& sources) {
  nlohmann::ordered_json out;
  try {
    const PodIdentity identity = identity_of(sources);
    out = {{"process", identity.place.rank}, {"processes", identity.place.size},
           {"hub", identity.place.address},  {"slice", identity.slice},
           {"slices", identity.slices},      {"source", identity.source}};
  } catch (const UsageError& error) {
    out["error"] = error.what();
  }
  for (const IdentitySource& source : sources) out["sources"].push_back(source_json(source));
  return out;
}

// What is refused is said last, as the command's error.
void describe(const DescribeFlags& flags) {
  const auto sources = identity_sources(flags.pod, surroundings_of(flags.device));
  if (flags.json) {
    std::cout << describe_json(sources).dump(2) << "\n";
    return;
  }
  for (const IdentitySource& source : sources)
    std::cout << source.name << ": " << state_of(source) << "\n";
  std::cout << std::flush;
  std::cout << "so this is " << identity_text(identity_of(sources)) << "\n";
}

}  // namespace

void add_pod_command(CLI::App& app) {
  auto* pod = app.add_subcommand("pod", "several processes that train one model");
  pod->require_subcommand(1);
  auto flags = std::make_shared<DescribeFlags>();
  auto* command = pod->add_subcommand(
      "describe",
      "which process of how many a command here would be, who says so, what is missing");
  add_pod_flags(*command, flags->pod);
  add_device_flag(*command, flags->device,
                  "of the run: what is said of TPUs counts for a TPU, SLURM and launchers for that "
                  "and GPUs");
  command->add_flag("--json", flags->json, "one object instead of lines");
  command->callback([flags] { describe(*flags); });
}

}  // namespace smelt
