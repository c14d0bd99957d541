#include "cli/cmd_cloud.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cloud/whoami.h"

namespace smelt {
namespace {

using nlohmann::ordered_json;

ordered_json text_or_null(const std::string& text) {
  return text.empty() ? ordered_json() : ordered_json(text);
}

void print(const Whoami& found, bool json) {
  const Who& who = found.who;
  const Project& project = found.project;
  if (json) {
    std::cout << ordered_json{{"kind", who.kind},
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
  std::cout << "account: " << (who.account.empty() ? "not told" : who.account) << " (" << who.kind
            << ")\nsource:  " << who.source << "\nproject: ";
  if (project.name.empty())
    std::cout << "none; set GOOGLE_CLOUD_PROJECT=NAME, or gcloud config set project NAME\n";
  else
    std::cout << project.name << " (" << project.source << ")\n";
  if (!who.quota_project.empty()) std::cout << "billed:  " << who.quota_project << "\n";
  std::cout << "token:   given, for " << found.token_lasts.count() << " seconds\n";
}

void add_whoami(CLI::App& app) {
  auto* command =
      app.add_subcommand("whoami", "say which identity is used, from where, for which project");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object instead of lines");
  command->callback([json] {
    GoogleApi api{TokenSource(google_credentials())};
    print(whoami(api), *json);
  });
}

}  // namespace

void add_cloud_command(CLI::App& app) {
  auto* command = app.add_subcommand("cloud", "Google Cloud: who one is there");
  command->require_subcommand(1);
  add_whoami(*command);
}

}  // namespace smelt
