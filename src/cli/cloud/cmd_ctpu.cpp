#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/cloud_line.h"
#include "cli/cloud/project_flag.h"
#include "cloud/ssh.h"

namespace smelt::cli {
namespace {

using Words = std::vector<std::string>;

struct CtpuOptions {
  std::string name, project, zone;
  std::string size = "v2-8", network;
  bool preemptible = false, dry_run = false, agreed = false, vm_only = false;

  std::string machine() const { return name.empty() ? cloud::local_user() : name; }
};
using Options = std::shared_ptr<CtpuOptions>;

constexpr const char* kOneMachine = "a TPU VM is its own host and needs no separate machine";

const std::vector<IgnoredFlag> kIgnoredByUp{
    {"--tf-version", true, "smelt needs no TensorFlow"},
    {"--machine-type", true, kOneMachine},
    {"--disk-size-gb", true, kOneMachine},
    {"--gce-image", true, kOneMachine},
    {"--use-dl-images", false, kOneMachine},
    {"--preemptible-vm", false, kOneMachine},
    {"--tpu-only", false, kOneMachine},
    {"--forward-ports", false, "use smelt cloud ssh NAME --ssh-option LocalForward=…"},
    {"--forward-agent", false, "use smelt cloud ssh NAME --ssh-option ForwardAgent=yes"},
    {"--print-welcome", false, "smelt prints none"},
    {"--require-permissions", false, "smelt grants no permissions"}};

void run(const CtpuOptions& o, const Words& words) {
  o.dry_run ? show_cloud_line(words) : become_cloud_line(words);
}

void bring_up(const CtpuOptions& o) {
  if (o.vm_only)
    throw UsageError("ctpu up: --vm-only: a TPU VM always includes its TPU", "remove --vm-only");
  Words words{
      "cloud", "up", o.machine(), "--type", o.size, "--zone", zone_or_gcloud(o.zone, "ctpu up")};
  if (o.preemptible) words.emplace_back("--spot");
  add_word(words, "--network", o.network == "default" ? "" : o.network);
  add_word(words, "--project", o.project);
  if (o.agreed) words.emplace_back("--yes");
  if (o.dry_run) words.emplace_back("--dry-run");
  become_cloud_line(words);
}

void take_down(const CtpuOptions& o) {
  Words words{"cloud", "down", o.machine(), "--zone", zone_or_gcloud(o.zone, "ctpu delete")};
  add_word(words, "--project", o.project);
  if (o.agreed) words.emplace_back("--yes");
  run(o, words);
}

// The arguments that a command needs: "cloud <verb> [NAME] [--zone Z] [--project P]".
enum class Needs { nothing, zone, name, name_and_zone };
void run_verb(const CtpuOptions& o, const std::string& verb, Needs needs,
              const std::string& original) {
  // Without a name, `status` lists all machines.
  const bool is_of_all = needs == Needs::name && o.name.empty();
  Words words{"cloud", is_of_all ? "list" : verb};
  if (!is_of_all && (needs == Needs::name || needs == Needs::name_and_zone))
    words.push_back(o.machine());
  const bool needs_zone = needs == Needs::zone || needs == Needs::name_and_zone;
  add_word(words, "--zone", needs_zone ? zone_or_gcloud(o.zone, "ctpu " + original) : o.zone);
  add_word(words, "--project", o.project);
  run(o, words);
}

// Adds flags that ctpu accepts before and after its verb.
void add_where(CLI::App& command, const Options& o) {
  command.add_option("--name", o->name, "name of the machine; default: your user name");
  command.add_option("--zone", o->zone, "zone; default: gcloud's compute/zone");
  add_project_flag(command, o->project);
}

void add_up(CLI::App& ctpu, const Options& o) {
  auto* command = ctpu.add_subcommand("up", "smelt cloud up: create a TPU machine");
  command->add_option("--tpu-size", o->size, "TPU type, such as v3-8")->capture_default_str();
  command->add_flag("--preemptible", o->preemptible,
                    "use a spot machine: cheaper, but may be preempted");
  command->add_option("--gcp-network", o->network,
                      "VPC network; default: the project's default network");
  command->add_flag("--noconf", o->agreed, "create it without a confirmation prompt");
  command->add_flag("--dry-run", o->dry_run, "show price and request without creating anything");
  command->add_flag("--vm-only", o->vm_only, "not supported: a TPU VM always includes its TPU");
  add_ignored(*command, kIgnoredByUp);
  add_where(*command, o);
  command->callback([o] { bring_up(*o); });
}

void add_delete(CLI::App& ctpu, const Options& o) {
  auto* command = ctpu.add_subcommand("delete", "smelt cloud down: delete a TPU machine");
  command->alias("rm");
  command->add_flag("--noconf", o->agreed, "delete it without a confirmation prompt");
  command->add_flag("--dry-run", o->dry_run,
                    "show the equivalent smelt cloud command without running it");
  add_ignored(*command, {{"--tpu-only", false, kOneMachine},
                         {"--nowait", false, "smelt always waits"},
                         {"--wait-for-async-ops", false, "smelt always waits"}});
  add_where(*command, o);
  command->callback([o] { take_down(*o); });
}

struct Verb {
  const char *name, *alias, *cloud;
  Needs needs;
  const char* help;
};
const std::vector<Verb> kVerbs{
    {"status", "st", "status", Needs::name,
     "smelt cloud status: show a machine's state and cost; without --name smelt cloud list"},
    {"list", "ls", "list", Needs::nothing, "smelt cloud list: list the project's TPUs"},
    {"pause", "", "stop", Needs::name_and_zone, "smelt cloud stop: stop a machine"},
    {"restart", "", "start", Needs::name_and_zone, "smelt cloud start: start a stopped machine"},
    {"tpu-locations", "", "locations", Needs::nothing,
     "smelt cloud locations: list zones with TPUs"},
    {"tpu-sizes", "", "types", Needs::zone, "smelt cloud types: list the TPU types of a zone"},
    {"auth", "", "whoami", Needs::nothing, "smelt cloud whoami"},
    {"config", "", "whoami", Needs::nothing, "smelt cloud whoami"}};

void add_verb(CLI::App& ctpu, const Options& o, const Verb& verb) {
  auto* command = ctpu.add_subcommand(verb.name, verb.help);
  if (*verb.alias != '\0') command->alias(verb.alias);
  command->add_flag("--dry-run", o->dry_run,
                    "show the equivalent smelt cloud command without running it");
  if (std::string_view(verb.name) == "status")
    add_ignored(*command, {{"--details", false, "smelt always shows details"},
                           {"--no-color", false, "smelt prints no colours"}});
  add_where(*command, o);
  command->callback([o, verb] { run_verb(*o, verb.cloud, verb.needs, verb.name); });
}

void add_words_alone(CLI::App& ctpu) {
  ctpu.add_subcommand("version", "print smelt's version")->callback([] {
    std::cout << "smelt " << SMELT_VERSION << "\n";
  });
  ctpu.add_subcommand("quota", "show where Google displays the project's quota")->callback([] {
    std::cout << "https://console.cloud.google.com/iam-admin/quotas?service=tpu.googleapis.com\n";
  });
  ctpu.add_subcommand("tf-versions", "not needed: smelt does not use TensorFlow")->callback([] {
    std::cout << "smelt needs no TensorFlow; to list a zone's runtime versions: smelt cloud types "
                 "--zone ZONE --json\n";
  });
}

}  // namespace

void add_ctpu_command(CLI::App& app) {
  auto* ctpu =
      app.add_subcommand("ctpu", "run ctpu commands (a retired Google tool) with smelt cloud");
  ctpu->require_subcommand(1);
  auto o = std::make_shared<CtpuOptions>();
  add_where(*ctpu, o);
  add_up(*ctpu, o);
  add_delete(*ctpu, o);
  for (const Verb& verb : kVerbs) add_verb(*ctpu, o, verb);
  add_words_alone(*ctpu);
}

}  // namespace smelt::cli
