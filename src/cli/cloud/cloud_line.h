// Translates a command line of gcloud or ctpu into one of `smelt cloud`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace smelt::cli {

// Prints the equivalent smelt command on standard error and runs it. `words` are the arguments
// after "smelt".
void become_cloud_line(const std::vector<std::string>& words);
// Prints the equivalent smelt command without running it.
void show_cloud_line(const std::vector<std::string>& words);

// Appends "--name value" to the words, unless the value is empty.
void add_word(std::vector<std::string>& words, const char* flag, const std::string& value);

// Returns `zone`, or the zone of gcloud's configuration if it is empty. Throws UsageError
// "<what>: no zone given" if there is neither.
std::string zone_or_gcloud(const std::string& zone, const std::string& what);

// A flag that is accepted but has no effect. The command logs the reason, `why`.
struct IgnoredFlag {
  const char* flag;
  bool has_value;
  const char* why;
};
void add_ignored(CLI::App& command, const std::vector<IgnoredFlag>& flags);

}  // namespace smelt::cli
