#include "cli/cloud/cmd_doctor.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "base/exit_status.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cloud/job_recipe.h"
#include "cli/cloud/project_flag.h"
#include "cost_model/accelerator.h"

namespace smelt::cli {
namespace {

struct DoctorOptions {
  std::string recipe, zones;
  std::vector<std::string> settings;
  cloud::DoctorRequest ask;
  bool json = false;
};

void print_json(const std::vector<cloud::DoctorCheck>& checks) {
  OrderedJson all = OrderedJson::array();
  for (const cloud::DoctorCheck& check : checks)
    all.push_back({{"check", check.what},
                   {"ok", check.good},
                   {"said", check.said},
                   {"remedy", check.remedy.empty() ? OrderedJson() : OrderedJson(check.remedy)}});
  std::cout << OrderedJson{{"ok", are_good(checks)}, {"checks", all}}.dump() << "\n";
}

void run_doctor(DoctorOptions o) {
  std::optional<cost_model::Accelerator> type;
  if (!o.ask.type.empty()) {
    type = cost_model::find_accelerators("--type", o.ask.type).front();
    o.ask.type = type->name;
  }
  if (!o.zones.empty()) o.ask.zones = cloud::split_zones(o.zones);
  auto checks = cloud::examine(
      o.ask, [] { return cloud::GoogleApi(cloud::TokenSource(io::google_credentials())); });
  if (!o.recipe.empty())
    checks.push_back(judge_recipe(o.recipe, o.settings, type ? &*type : nullptr).check);
  o.json ? print_json(checks) : print_checks(std::cout, checks);
  if (!are_good(checks)) throw ExitStatus(1);
}

}  // namespace

void print_checks(std::ostream& out, const std::vector<cloud::DoctorCheck>& checks) {
  std::size_t width = 0;
  for (const cloud::DoctorCheck& check : checks) width = std::max(width, check.what.size());
  for (const cloud::DoctorCheck& check : checks) {
    out << (check.good ? "ok     " : "wrong  ") << check.what
        << std::string(width - check.what.size() + 2, ' ') << check.said << "\n";
    if (!check.remedy.empty())
      out << std::string(width + 9, ' ') << "hint: " << check.remedy << "\n";
  }
  out << std::flush;
}

bool are_good(const std::vector<cloud::DoctorCheck>& checks) {
  return std::ranges::all_of(checks, &cloud::DoctorCheck::good);
}

void add_doctor_command(CLI::App& cloud) {
  auto* command = cloud.add_subcommand(
      "doctor", "check everything that a cloud job needs, and show how to fix problems");
  auto o = std::make_shared<DoctorOptions>();
  command->add_option("recipe", o->recipe, "recipe of the job");
  command->add_option("--set", o->settings, "override a recipe field, e.g. train.steps=1000");
  command->add_option("--type", o->ask.type, "TPU type, such as v3-8");
  command->add_option("--zone", o->zones, "zones, separated by commas");
  command->add_option("--bucket", o->ask.bucket, "bucket of the job: gs://NAME, or a folder in it");
  command->add_option("--package", o->ask.package,
                      "smelt package (.tar.zst), made by scripts/package");
  command->add_option(
      "--service-account", o->ask.service_account,
      "service account of the machine; default: the project's default service account");
  command->add_option("--user", o->ask.user,
                      "user name on the machine; default: your local user name");
  command->add_flag("--far-bucket", o->ask.far_bucket, "allow a bucket in another region");
  add_project_flag(*command, o->ask.project);
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
  command->callback([o] { run_doctor(*o); });
}

}  // namespace smelt::cli
