// A line of a retired tool becomes one of `smelt cloud`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

// Says which line of smelt this is now, on standard error, and runs it. `words` are those behind
// "smelt".
void become_cloud_line(const std::vector<std::string>& words);
void show_cloud_line(const std::vector<std::string>& words);  // and does not run it

// "--name value" behind the words, where there is a value.
void add_word(std::vector<std::string>& words, const char* flag, const std::string& value);

// --zone, or the zone that gcloud is set to. UsageError "<what>: no zone is named".
std::string zone_or_gcloud(const std::string& zone, const std::string& what);

// A flag without a meaning here: taken, and that it is ignored is said with the reason.
struct IgnoredFlag {
  const char* flag;
  bool has_value;
  const char* why;
};
void add_ignored(CLI::App& command, const std::vector<IgnoredFlag>& flags);

}  // namespace smelt
