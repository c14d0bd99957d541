#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/pod_manifest.h"
#include "cli/options/form_flags.h"
#include "cli/options/number_check.h"
#include "cli/options/pod_flags.h"
#include "cli/options/recipe_option.h"
#include "pipeline/estimate/plan_recipe.h"

namespace smelt::cli {
namespace {

struct DescribeFlags {
  distributed::PodSettings pod;
  std::string device = "auto";
  bool json = false;
};

std::string state_of(const distributed::IdentitySource& source) {
  if (!source.fault.empty()) return source.fault;
  std::vector<std::string> found;
  for (const auto& [name, value] : source.found) found.push_back(str(name, " ", value));
  const std::string there = join(found, ", ");
  const std::string missing = join(source.missing, ", ");
  if (source.is_half()) return str(there, "; missing: ", missing);
  if (!source.identity) return str("nothing (", missing, ")");
  const distributed::PodPlace& place = source.identity->place;
  return str(there, ": process ", place.rank, " of ", place.size);
}

OrderedJson source_json(const distributed::IdentitySource& source) {
  OrderedJson out{
      {"name", source.name}, {"found", OrderedJson::object()}, {"missing", source.missing}};
  for (const auto& [name, value] : source.found) out["found"][name] = value;
  if (source.identity)
    out.update(
        {{"process", source.identity->place.rank}, {"processes", source.identity->place.size}});
  if (!source.fault.empty()) out["fault"] = source.fault;
  return out;
}

OrderedJson describe_json(const std::vector<distributed::IdentitySource>& sources) {
  OrderedJson out;
  try {
    const distributed::PodIdentity identity = distributed::identity_of(sources);
    out = {{"process", identity.place.rank}, {"processes", identity.place.size},
           {"hub", identity.place.address},  {"slice", identity.slice},
           {"slices", identity.slices},      {"source", identity.source}};
  } catch (const UsageError& error) {
    out["error"] = error.what();
  }
  for (const distributed::IdentitySource& source : sources)
    out["sources"].push_back(source_json(source));
  return out;
}

// Prints each source of this process's rank, then the rank. An inconsistent source throws
// UsageError after all sources are printed.
void describe(const DescribeFlags& flags) {
  const auto sources = distributed::identity_sources(flags.pod, surroundings_of(flags.device));
  if (flags.json) {
    std::cout << describe_json(sources).dump(2) << "\n";
    return;
  }
  for (const distributed::IdentitySource& source : sources)
    std::cout << source.name << ": " << state_of(source) << "\n";
  std::cout << std::flush;
  const std::string text = distributed::identity_text(distributed::identity_of(sources));
  std::cout << "result: " << text << "\n";
  if (sources.size() == 1)
    std::cout << "(with --device tpu or --device gpu, more sources are checked)\n";
}

struct ManifestFlags {
  std::shared_ptr<RecipeOption> recipe;
  std::string kind, on, name, zone, image;
  std::int64_t hosts = 0;
  bool spot = false;
};

constexpr std::string_view kTpuVm = "tpu-vm", kJobset = "jobset", kSlurm = "slurm",
                           kSkypilot = "skypilot";

// Returns the machine that --on names, or else the v3 or v5e slice with the recipe's number of
// devices. Throws UsageError if there is none.
cost_model::Accelerator machine_of(const ManifestFlags& flags) {
  if (!flags.on.empty()) {
    const auto found = cost_model::find_accelerators("--on", flags.on);
    if (found.size() != 1)
      throw UsageError(
          str("pod manifest: --on ", flags.on, " names ", found.size(), " types, expected one"),
          "name one type");
    return found.front();
  }
  const std::int64_t devices = flags.recipe->load().train.devices;
  const cost_model::Accelerator* slice =
      flags.kind == kSlurm ? nullptr : cost_model::usual_slice(devices);
  if (slice == nullptr)
    throw UsageError(str("pod manifest: the machine type for the ", devices, " devices of ",
                         flags.recipe->path, " is unknown"),
                     flags.kind == kSlurm ? "add --on h100x8 --hosts 2" : "add --on v2-32");
  return *slice;
}

std::int64_t hosts_of(const ManifestFlags& flags, const cost_model::Accelerator& machine) {
  const std::string on = " with --on " + machine.name;
  if (!machine.is_gpu() && flags.hosts > 0 && flags.hosts != machine.hosts)
    throw UsageError(str("pod manifest: --hosts ", flags.hosts, on, ", which has ", machine.hosts),
                     "remove --hosts");
  return machine.is_gpu() ? std::max<std::int64_t>(flags.hosts, 1) : machine.hosts;
}

// Throws UsageError if the kind does not support the machine, or if a flag that it needs is
// missing.
void check_kind(const ManifestFlags& flags, const cost_model::Accelerator& machine,
                const std::string& out) {
  const auto fail = [&](const std::string& fault, const std::string& hint) {
    throw UsageError(str("pod manifest: --kind ", flags.kind, fault), hint);
  };
  if (machine.is_gpu() && (flags.kind == kTpuVm || flags.kind == kJobset))
    fail(" is for TPUs, not for " + machine.name, "use --kind slurm or skypilot");
  if (!machine.is_gpu() && flags.kind == kSlurm)
    fail(" is for GPUs, not for " + machine.name,
         "use --on h100x8, or --kind tpu-vm, jobset or skypilot");
  if (flags.kind == kTpuVm && flags.zone.empty()) fail(" needs a zone", "add --zone us-central1-a");
  if (flags.kind == kJobset && flags.image.empty())
    fail(" needs a container image that contains smelt", "add --image REGISTRY/smelt:TAG");
  if (flags.kind != kSlurm && !io::is_remote(out))
    fail(str(": out is ", out, ", which the machines do not share"),
         "use --set out=gs://BUCKET/RUN");
}

void print_manifest(const ManifestFlags& flags) {
  const cost_model::Accelerator machine = machine_of(flags);
  PodPlan plan{.recipe = flags.recipe->path,
               .settings = flags.recipe->settings,
               .name = flags.name,
               .machine = machine,
               .hosts = hosts_of(flags, machine),
               .zone = flags.zone,
               .image = flags.image,
               .spot = flags.spot};
  cost_model::Accelerator all = machine;
  all.devices = machine.devices * (machine.is_gpu() ? static_cast<int>(plan.hosts) : 1);
  const pipeline::Recipe here = flags.recipe->load(),
                         there = pipeline::recipe_on(all, plan.recipe, plan.settings);
  check_kind(flags, machine, there.out);
  if (here.train.device != there.train.device)
    plan.settings.push_back("train.device=" + there.train.device);
  if (here.train.devices != there.train.devices)
    plan.settings.push_back(str("train.devices=", there.train.devices));
  if (plan.name.empty()) plan.name = run_name(there.out);
  if (run_name(plan.name) != plan.name)
    throw UsageError(str("pod manifest: --name '", plan.name,
                         "': expected at most 40 lower-case letters, digits and hyphens, starting "
                         "with a letter"),
                     "--name " + run_name(plan.name));
  std::cout << (flags.kind == kTpuVm    ? tpu_vm_manifest(plan)
                : flags.kind == kJobset ? jobset_manifest(plan)
                : flags.kind == kSlurm  ? slurm_manifest(plan)
                                        : skypilot_manifest(plan));
}

void add_manifest(CLI::App& pod) {
  auto flags = std::make_shared<ManifestFlags>();
  auto* command = pod.add_subcommand(
      "manifest",
      "print a script that starts a run on several hosts: TPU VM, GKE, SLURM, SkyPilot");
  flags->recipe = add_recipe_options(*command);
  command->add_option("--kind", flags->kind, "system that starts the run")
      ->required()
      ->check(CLI::IsMember({kTpuVm, kJobset, kSlurm, kSkypilot}));
  command->add_option(
      "--on", flags->on,
      "TPU type such as v2-32, or the GPUs of a machine such as h100x8; default: the "
      "v3 slice with the recipe's number of devices, or the v5e slice");
  command->add_option("--hosts", flags->hosts, "number of GPU machines")
      ->check(number_from(1, 4096));
  command->add_option("--name", flags->name,
                      "name of the machine or job; default: the last part of out");
  command->add_option("--zone", flags->zone, "Google Cloud zone, such as us-central1-a");
  command->add_option("--image", flags->image, "container image that contains smelt (jobset)");
  command->add_flag("--spot", flags->spot, "use spot machines");
  command->callback([flags] { print_manifest(*flags); });
}

}  // namespace

void add_pod_command(CLI::App& app) {
  auto* pod = app.add_subcommand("pod", "train one model on several hosts");
  pod->require_subcommand(1);
  auto flags = std::make_shared<DescribeFlags>();
  auto* command = pod->add_subcommand(
      "describe", "show the rank of this host, where it comes from, and what is missing");
  add_pod_flags(*command, flags->pod);
  add_device_flag(
      *command, flags->device,
      "device of the run: TPU metadata is used for a TPU; SLURM and launcher variables for TPUs "
      "and GPUs");
  command->add_flag("--json", flags->json, "print one JSON object instead of lines");
  command->callback([flags] { describe(*flags); });
  add_manifest(*pod);
}

}  // namespace smelt::cli
