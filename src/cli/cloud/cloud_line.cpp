#include "cli/cloud/cloud_line.h"

#include <iostream>

#include "base/error.h"
#include "base/run_program.h"
#include "cli/cloud/cloud_commands.h"
#include "cli/options/parse_arguments.h"
#include "cloud/whoami.h"

namespace smelt::cli {
namespace {

// Returns a word as typed in a shell, quoted if needed.
std::string typed(const std::string& word) {
  static const std::string kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@%+";
  const bool plain = !word.empty() && word.find_first_not_of(kPlain) == std::string::npos;
  return plain ? word : shell_word(word);
}

}  // namespace

void show_cloud_line(const std::vector<std::string>& words) {
  std::cerr << "now: smelt";
  for (const std::string& word : words) std::cerr << " " << typed(word);
  std::cerr << std::endl;
}

void become_cloud_line(const std::vector<std::string>& words) {
  show_cloud_line(words);
  CLI::App app("", "smelt");
  app.require_subcommand(1);
  add_cloud_command(app);
  parse(app, words);
}

void add_word(std::vector<std::string>& words, const char* flag, const std::string& value) {
  if (value.empty()) return;
  words.emplace_back(flag);
  words.push_back(value);
}

std::string zone_or_gcloud(const std::string& zone, const std::string& what) {
  std::string found = zone.empty() ? cloud::gcloud_zone() : zone;
  if (found.empty())
    throw UsageError(
        str(what, ": no zone given"),
        "add --zone us-central1-a, or set a default: gcloud config set compute/zone us-central1-a");
  return found;
}

void add_ignored(CLI::App& command, const std::vector<IgnoredFlag>& flags) {
  for (const IgnoredFlag& ignored : flags) {
    const auto tell = [ignored] {
      std::cerr << "note: " << ignored.flag << " is ignored: " << ignored.why << std::endl;
    };
    const std::string help = str("ignored: ", ignored.why);
    if (ignored.has_value)
      command.add_option_function<std::string>(
          ignored.flag, [tell](const std::string&) { tell(); }, help);
    else
      command.add_flag_function(ignored.flag, [tell](std::int64_t) { tell(); }, help);
  }
}

}  // namespace smelt::cli
