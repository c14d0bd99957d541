#include "cli/cmd_cloud.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/cmd_machines.h"
#include "cloud/tpu_api.h"
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

// What commands about a project's machines have in common.
struct ListOptions {
  std::string project, zone;
  bool json = false;
};

std::shared_ptr<ListOptions> add_list_options(CLI::App& command) {
  auto o = std::make_shared<ListOptions>();
  command.add_option("--project", o->project, "default: the one that smelt cloud whoami names");
  command.add_flag("--json", o->json, "one JSON object instead of lines");
  return o;
}

// The first line is the head; columns are as wide as their widest.
void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

// "2026-11-23T17:40:02.123456Z" -> "2026-11-23 17:40Z"
std::string minutes_of(const std::string& time) {
  if (time.size() < 16) return time;
  return str(time.substr(0, 10), " ", time.substr(11, 5), "Z");
}

void print_json(const TpuList<TpuNode>& nodes, const TpuList<TpuQueued>& queued) {
  ordered_json out{{"nodes", ordered_json::array()},
                   {"queued", ordered_json::array()},
                   {"unreachable", nodes.unreachable}};
  for (const TpuNode& node : nodes.items)
    out["nodes"].push_back({{"name", node.name},
                            {"zone", node.zone},
                            {"type", node.accelerator_type},
                            {"runtime_version", node.runtime_version},
                            {"state", node.state},
                            {"health", text_or_null(node.health)},
                            {"spot", node.is_spot},
                            {"lost", node.is_lost()},
                            {"created", node.create_time},
                            {"queued_resource", text_or_null(node.queued_resource)},
                            {"addresses", node.addresses},
                            {"external_addresses", node.external_addresses},
                            {"labels", node.labels}});
  for (const TpuQueued& each : queued.items)
    out["queued"].push_back({{"name", each.name},
                             {"zone", each.zone},
                             {"type", each.accelerator_type},
                             {"state", each.state},
                             {"created", each.create_time}});
  std::cout << out.dump() << "\n";
}

void print_lines(const TpuList<TpuNode>& nodes, const TpuList<TpuQueued>& queued) {
  std::vector<std::vector<std::string>> rows{{"name", "zone", "type", "state", "since"}};
  for (const TpuNode& node : nodes.items)
    rows.push_back({node.name, node.zone, node.accelerator_type, node.state,
                    str(minutes_of(node.create_time), node.is_spot ? "  spot" : "")});
  for (const TpuQueued& each : queued.items)
    rows.push_back({each.name, each.zone, each.accelerator_type, each.state,
                    str(minutes_of(each.create_time), "  in the queue")});
  if (rows.size() > 1) print_table(rows);
  if (rows.size() == 1) std::cout << "no TPUs\n";
  for (const TpuNode& node : nodes.items)
    if (node.is_lost())
      std::cout << "note: " << node.name << " is lost, and keeps its quota until it is deleted\n";
  for (const std::string& zone : nodes.unreachable)
    std::cout << "note: no answer from " << zone << ": there may be more\n";
}

void add_list(CLI::App& app) {
  auto* command = app.add_subcommand("list", "show the project's TPUs and those in the queue");
  auto o = add_list_options(*command);
  o->zone = kAllZones;
  command->add_option("--zone", o->zone, "only this zone's; default: all zones'");
  command->callback([o] {
    GoogleApi api{TokenSource(google_credentials())};
    TpuApi tpu(api, project_of(o->project, api));
    const auto nodes = tpu.nodes(o->zone);
    const auto queued = tpu.queued(o->zone);
    o->json ? print_json(nodes, queued) : print_lines(nodes, queued);
  });
}

void add_locations(CLI::App& app) {
  auto* command = app.add_subcommand("locations", "name the zones that have TPUs");
  auto o = add_list_options(*command);
  command->callback([o] {
    GoogleApi api{TokenSource(google_credentials())};
    const auto zones = TpuApi(api, project_of(o->project, api)).zones();
    if (o->json)
      std::cout << ordered_json{{"zones", zones}}.dump() << "\n";
    else
      for (const std::string& zone : zones) std::cout << zone << "\n";
  });
}

void add_types(CLI::App& app) {
  auto* command = app.add_subcommand("types", "name the types of TPUs that a zone has");
  auto o = add_list_options(*command);
  command->add_option("--zone", o->zone, "as us-central1-a")->required();
  command->callback([o] {
    GoogleApi api{TokenSource(google_credentials())};
    TpuApi tpu(api, project_of(o->project, api));
    const auto types = tpu.accelerator_types(o->zone);
    if (o->json)
      std::cout << ordered_json{{"types", types},
                                {"runtime_versions", tpu.runtime_versions(o->zone)}}
                       .dump()
                << "\n";
    else
      for (const std::string& type : types) std::cout << type << "\n";
  });
}

}  // namespace

void add_cloud_command(CLI::App& app) {
  auto* command = app.add_subcommand("cloud", "Google Cloud: who one is there, TPUs");
  command->require_subcommand(1);
  add_whoami(*command);
  add_list(*command);
  add_locations(*command);
  add_types(*command);
  add_up_command(*command);
  add_down_command(*command);
}

}  // namespace smelt
