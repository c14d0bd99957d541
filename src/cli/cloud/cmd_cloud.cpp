#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/cloud/cmd_doctor.h"
#include "cli/cloud/cmd_job.h"
#include "cli/cloud/cmd_workers.h"
#include "cli/cloud/machine_verbs.h"
#include "cli/cloud/project_flag.h"
#include "cloud/tpu_api.h"
#include "cloud/whoami.h"

namespace smelt::cli {
namespace {

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson() : OrderedJson(text);
}

void print(const cloud::Whoami& found, bool json) {
  const io::Account& who = found.who;
  const cloud::Project& project = found.project;
  if (json) {
    std::cout << OrderedJson{{"kind", who.kind},
                             {"account", text_or_null(who.account)},
                             {"source", who.source},
                             {"project", text_or_null(project.name)},
                             {"project_source", text_or_null(project.source)},
                             {"quota_project", text_or_null(who.quota_project)},
                             {"token_seconds", found.token_lasts.count()}}
                     .dump()
              << "\n";
    return;
  }
  std::cout << "account: " << (who.account.empty() ? "unknown" : who.account) << " (" << who.kind
            << ")\nsource:  " << who.source << "\nproject: ";
  if (project.name.empty())
    std::cout << "none; set GOOGLE_CLOUD_PROJECT=NAME, or gcloud config set project NAME\n";
  else
    std::cout << project.name << " (" << project.source << ")\n";
  if (!who.quota_project.empty()) std::cout << "billed:  " << who.quota_project << "\n";
  if (who.lacks_quota_project())
    std::cout << "billed:  gcloud's own project, where some APIs are disabled; to use yours: "
              << io::quota_project_command(project.name.empty() ? "PROJECT" : project.name) << "\n";
  std::cout << "token:   valid for " << found.token_lasts.count() << " seconds\n";
}

void add_whoami(CLI::App& app) {
  auto* command = app.add_subcommand(
      "whoami", "show the Google Cloud account, the source of its credentials, and the project");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print one JSON object instead of lines");
  command->callback([json] {
    cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
    print(cloud::whoami(api), *json);
  });
}

// Options that the list commands share.
struct ListOptions {
  std::string project, zone;
  bool json = false;
};

std::shared_ptr<ListOptions> add_list_options(CLI::App& command) {
  auto o = std::make_shared<ListOptions>();
  add_project_flag(command, o->project);
  command.add_flag("--json", o->json, "print one JSON object instead of lines");
  return o;
}

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "list the project's TPUs and queued requests");
  auto o = std::make_shared<MachineOptions>();
  o->zone = cloud::kAllZones;
  add_project_flag(*command, o->project);
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
  command->add_option("--zone", o->zone, "only TPUs of this zone; default: all zones");
  command->callback([o] { list_machines(*o); });
}

void add_locations(CLI::App& app) {
  auto* command = app.add_subcommand("locations", "list the zones with TPUs");
  auto o = add_list_options(*command);
  command->callback([o] {
    cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
    const auto zones = cloud::TpuApi(api, cloud::project_of(o->project, api)).zones();
    if (o->json)
      std::cout << OrderedJson{{"zones", zones}}.dump() << "\n";
    else
      for (const std::string& zone : zones) std::cout << zone << "\n";
  });
}

void add_types(CLI::App& app) {
  auto* command = app.add_subcommand("types", "list the TPU types of a zone");
  auto o = add_list_options(*command);
  command->add_option("--zone", o->zone, "a zone, such as us-central1-a")->required();
  command->callback([o] {
    cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
    cloud::TpuApi tpu(api, cloud::project_of(o->project, api));
    tpu.require_zones({o->zone});
    const auto types = tpu.accelerator_types(o->zone);
    if (o->json)
      std::cout << OrderedJson{{"types", types},
                               {"runtime_versions", tpu.runtime_versions(o->zone)}}
                       .dump()
                << "\n";
    else
      for (const std::string& type : types) std::cout << type << "\n";
  });
}

}  // namespace

void add_cloud_command(CLI::App& app) {
  auto* command = app.add_subcommand("cloud",
                                     "rent Google Cloud TPUs: run training jobs within a budget, "
                                     "create and delete machines, ssh");
  command->require_subcommand(1);
  add_whoami(*command);
  add_doctor_command(*command);
  add_list(*command);
  add_locations(*command);
  add_types(*command);
  add_machine_commands(*command);
  add_worker_commands(*command);
  add_job_commands(*command);
  add_prices_command(*command);
}

}  // namespace smelt::cli
