// Parses a command line with CLI11 and rewrites its errors.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smelt::cli {

// The heading of the originals' commands in `smelt help`.
inline constexpr const char* kOriginals = "Compatibility (command lines of other programs)";

// Returns the arguments after the program's name. For commands with the originals' absl flags,
// replaces --flagfile by the flags in the file (cli/options/flag_file.h) and "-name" by "--name",
// and removes absl's logging flags. Throws UsageError for "--flag=" without a value, except for
// originals' flags that accept an empty text.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, char** argv);

// Returns the recipe field for a flag's name, "steps" -> "train.steps"; "" if there is none.
using FieldNamed = std::function<std::string(const std::string& name)>;

// Runs the command's callback. Throws UsageError for unknown or invalid arguments, and rethrows
// CLI::Success (for --help). If the command has --set, the hint for an unknown flag names the
// recipe field that `field_named` returns.
void parse(CLI::App& app, std::vector<std::string> arguments, const FieldNamed& field_named = {});

// Returns an error text for an option's value, or "" if the value is valid.
inline std::string is_not_empty(const std::string& value) {
  return value.empty() ? "is empty" : "";
}

}  // namespace smelt::cli
