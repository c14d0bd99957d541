#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/json.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/str.h"
#include "cli/commands/commands.h"
#include "cli/options/confirm.h"
#include "pipeline/stages/clean.h"

namespace smelt::cli {
namespace {

struct CleanOptions {
  std::string run;
  bool yes = false, json = false;
};

std::uint64_t total(const std::vector<pipeline::Leftover>& found) {
  std::uint64_t bytes = 0;
  for (const pipeline::Leftover& leftover : found) bytes += leftover.bytes;
  return bytes;
}

void print(const std::vector<pipeline::Leftover>& found, bool json) {
  if (json) {
    OrderedJson out{{"bytes", total(found)}, {"leftovers", Json::array()}};
    for (const pipeline::Leftover& leftover : found)
      out["leftovers"].push_back(
          {{"path", leftover.path}, {"what", leftover.what}, {"bytes", leftover.bytes}});
    std::cout << out.dump() << "\n";
    return;
  }
  for (const pipeline::Leftover& leftover : found)
    std::cout << bytes_text(static_cast<double>(leftover.bytes)) << "  " << leftover.path << "  ("
              << leftover.what << ")\n";
}

void run_clean(const CleanOptions& options) {
  const auto found = pipeline::leftovers(options.run);
  print(found, options.json);
  const std::string size = bytes_text(static_cast<double>(total(found)));
  if (found.empty()) {
    if (!options.json) std::cout << "nothing to free\n";
    return;
  }
  const bool removes = options.yes || (!options.json && is_agreed_to("remove them?"));
  if (removes) pipeline::clean(options.run, found);
  if (!options.json)
    std::cout << (removes ? size + " freed" : size + " would be freed; --yes removes them") << "\n";
}

}  // namespace

void add_clean_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("clean", "list files that a run no longer needs, and delete them");
  auto options = std::make_shared<CleanOptions>();
  command->add_option("run", options->run, "the run's folder")->required();
  command->add_flag("--yes", options->yes, "delete without a confirmation prompt");
  command->add_flag("--json", options->json, "print one JSON object instead of lines");
  command->callback([options] { run_clean(*options); });
}

}  // namespace smelt::cli
