#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/str.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/cloud_line.h"
#include "cli/cloud/project_flag.h"

namespace smelt::cli {
namespace {

using Words = std::vector<std::string>;

struct TpuVmOptions {
  std::string name, project, zone;
  std::string type = "v2-8", version, network, subnetwork, service_account, format;
  std::vector<std::string> labels, metadata, paths, ssh_flags;
  std::vector<std::string> behind;  // arguments after "--": ssh's own flags
  std::string worker = "0", command;
  bool spot = false, preemptible = false, reserved = false, internal = false, quiet = false;
  bool dry_run = false, tunnels = false;
};
using SharedOptions = std::shared_ptr<TpuVmOptions>;

// Adds one flag for each pair of gcloud's "a=b,c=d".
void add_pairs(Words& words, const char* flag, const std::vector<std::string>& lists) {
  for (const std::string& list : lists)
    for (const std::string_view pair : split(list, ',')) add_word(words, flag, std::string(pair));
}

void create(const TpuVmOptions& o) {
  Words words{
      "cloud", "up", o.name, "--type", o.type, "--zone", zone_or_gcloud(o.zone, "tpu-vm create")};
  add_word(words, "--runtime-version", o.version);
  if (o.spot || o.preemptible) words.emplace_back("--spot");
  if (o.reserved) words.emplace_back("--reserved");
  add_word(words, "--network", o.network == "default" ? "" : o.network);
  add_word(words, "--subnetwork", o.subnetwork);
  add_word(words, "--service-account", o.service_account);
  add_pairs(words, "--label", o.labels);
  add_pairs(words, "--metadata", o.metadata);
  if (o.internal) words.emplace_back("--internal-ips");
  add_word(words, "--project", o.project);
  if (o.quiet) words.emplace_back("--yes");
  become_cloud_line(words);
}

void remove(const TpuVmOptions& o) {
  Words words{"cloud", "down", o.name, "--zone", zone_or_gcloud(o.zone, "tpu-vm delete")};
  add_word(words, "--project", o.project);
  if (o.quiet) words.emplace_back("--yes");
  become_cloud_line(words);
}

// Runs `smelt cloud list` or `smelt cloud status NAME`, as given by `words`.
void show(const TpuVmOptions& o, Words words) {
  if (!o.format.empty() && o.format != "json")
    throw UsageError(str("tpu-vm: --format ", o.format, ": only json is supported"),
                     "use --format json, or remove the flag");
  add_word(words, "--zone", o.zone);
  add_word(words, "--project", o.project);
  if (!o.format.empty()) words.emplace_back("--json");
  become_cloud_line(words);
}

void turn(const TpuVmOptions& o, const std::string& verb) {
  Words words{"cloud", verb, o.name, "--zone", zone_or_gcloud(o.zone, "tpu-vm " + verb)};
  add_word(words, "--project", o.project);
  become_cloud_line(words);
}

// Returns "NAME=VALUE" for an ssh flag "-o NAME=VALUE" or "-oNAME=VALUE". Throws UsageError for any
// other ssh flag, which has an equivalent -o option.
std::string ssh_option(const std::string& flag) {
  const std::string option(trim(flag.starts_with("-o") ? flag.substr(2) : ""));
  if (option.empty())
    throw UsageError(
        str("tpu-vm: --ssh-flag '", flag, "' is not an ssh option of the form -o NAME=VALUE"),
        "use --ssh-flag='-o LocalForward=6006 localhost:6006' instead of -L");
  return option;
}

void reach(const TpuVmOptions& o, Words words) {
  if (o.tunnels)
    throw UsageError("tpu-vm: --tunnel-through-iap is not supported",
                     "use --ssh-flag='-o ProxyCommand=gcloud compute start-iap-tunnel …'");
  add_word(words, "--worker", o.worker == "0" ? "" : o.worker);
  add_word(words, "--zone", o.zone);
  add_word(words, "--project", o.project);
  if (o.internal) words.emplace_back("--internal-ip");
  for (const std::string& flag : o.ssh_flags) add_word(words, "--ssh-option", ssh_option(flag));
  if (o.dry_run) words.emplace_back("--dry-run");
  if (!o.behind.empty()) words.emplace_back("--");
  words.insert(words.end(), o.behind.begin(), o.behind.end());
  become_cloud_line(words);
}

CLI::App* add(CLI::App& group, const SharedOptions& o, const char* name, const char* help) {
  auto* command = group.add_subcommand(name, help);
  command->add_option("--zone", o->zone, "zone; default: gcloud's compute/zone, or all zones");
  add_project_flag(*command, o->project);
  command->add_flag("--quiet,-q", o->quiet, "skip the confirmation prompt");
  return command;
}

CLI::App* add_named(CLI::App& group, const SharedOptions& o, const char* name, const char* help) {
  auto* command = add(group, o, name, help);
  command->add_option("name", o->name, "name of the machine")->required();
  return command;
}

void add_create(CLI::App& group, const SharedOptions& o) {
  auto* command = add_named(group, o, "create", "smelt cloud up: create a TPU machine");
  command->add_option("--accelerator-type", o->type, "TPU type, such as v3-8")
      ->capture_default_str();
  command->add_option("--version", o->version, "runtime version; default: that of the type");
  command->add_flag("--preemptible", o->preemptible, "same as --spot");
  command->add_flag("--spot", o->spot, "use a spot machine: cheaper, but may be preempted");
  command->add_flag("--reserved", o->reserved, "use the project's reserved capacity");
  command->add_option("--network", o->network,
                      "VPC network; default: the project's default network");
  command->add_option("--subnetwork", o->subnetwork, "subnetwork; default: that of the network");
  command->add_option(
      "--service-account", o->service_account,
      "service account of the machine; default: the project's default service account");
  command->add_option("--labels", o->labels, "labels: NAME=VALUE,…");
  command->add_option("--metadata", o->metadata, "metadata: NAME=VALUE,…");
  command->add_flag("--internal-ips", o->internal,
                    "create the machine without external IP addresses");
  add_ignored(*command, {{"--async", false, "smelt always waits"},
                         {"--description", true, "smelt sets no description"}});
  command->callback([o] { create(*o); });
}

void add_reaching(CLI::App& command, const SharedOptions& o) {
  command.add_option("--worker", o->worker, "workers: all, or numbers from 0, such as 0,2-4")
      ->capture_default_str();
  command.add_flag("--internal-ip", o->internal, "connect to internal IP addresses");
  command.add_option("--ssh-flag,--scp-flag", o->ssh_flags,
                     "ssh option '-o NAME=VALUE'; may be given several times");
  command.add_flag("--tunnel-through-iap", o->tunnels, "not supported: use --ssh-flag");
  command.add_flag("--dry-run", o->dry_run, "show the ssh commands without running them");
  add_ignored(command, {{"--batch-size", true, "smelt always connects to all workers at once"}});
}

void add_ssh(CLI::App& group, const SharedOptions& o) {
  auto* command =
      add_named(group, o, "ssh", "smelt cloud ssh: run a command on workers, or open a shell");
  command->add_option("flags", o->behind,
                      "ssh's own flags after --, such as -- -L 6006:localhost:6006");
  command->add_option("--command", o->command, "command to run; default: a shell");
  add_reaching(*command, o);
  command->callback([o] {
    Words words{"cloud", "ssh", o->name};
    add_word(words, "--command", o->command);
    reach(*o, words);
  });
}

void add_scp(CLI::App& group, const SharedOptions& o) {
  auto* command = add(group, o, "scp", "smelt cloud cp: copy files to or from workers, NAME:PATH");
  command->add_option("paths", o->paths, "FROM… TO")->required()->expected(2, -1);
  add_ignored(*command, {{"--recurse", false, "folders are always copied with their contents"}});
  add_reaching(*command, o);
  command->callback([o] {
    Words words{"cloud", "cp"};
    words.insert(words.end(), o->paths.begin(), o->paths.end());
    reach(*o, words);
  });
}

}  // namespace

void add_tpu_vm_command(CLI::App& app) {
  auto* group =
      app.add_subcommand("tpu-vm", "run gcloud compute tpus tpu-vm commands with smelt cloud");
  group->require_subcommand(1);
  auto o = std::make_shared<TpuVmOptions>();
  add_create(*group, o);
  auto* list = add(*group, o, "list", "smelt cloud list: list the project's TPUs");
  list->callback([o] { show(*o, {"cloud", "list"}); });
  auto* describe = add_named(*group, o, "describe", "smelt cloud status: show a machine's state");
  describe->callback([o] { show(*o, {"cloud", "status", o->name}); });
  for (auto* command : {list, describe})
    command->add_option("--format", o->format, "output format: json");
  add_ssh(*group, o);
  add_scp(*group, o);
  auto* gone = add_named(*group, o, "delete", "smelt cloud down: delete a machine");
  add_ignored(*gone, {{"--async", false, "smelt always waits"}});
  gone->callback([o] { remove(*o); });
  for (const char* verb : {"start", "stop"})
    add_named(*group, o, verb, str("smelt cloud ", verb).c_str())->callback([o, verb] {
      turn(*o, verb);
    });
}

}  // namespace smelt::cli
