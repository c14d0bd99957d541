// A command line as CLI11 parses it, with its faults in our words.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smelt {

// The title of those commands in `smelt help`.
inline constexpr const char* kOriginals = "Compatibility (command lines of other programs)";

// What stands behind the program's name. If the command is one of the originals' programs with
// absl's flags, the flags of --flagfile stand in its place (cli/options/flag_file.h), "-name" is
// "--name", and absl's own flags of logging are left out. UsageError for "--flag=" but where one of
// the originals' programs takes it for an empty text.
std::vector<std::string> arguments_of(const CLI::App& app, int argc, char** argv);

// Returns the recipe field that a flag's name stands for, "steps" -> "train.steps"; "" if none.
using FieldNamed = std::function<std::string(const std::string& name)>;

// Runs the command's callback. Throws UsageError for what the command does not know or cannot take.
// CLI::Success is thrown on, as for --help. The hint about an unknown flag names the recipe field
// that `field_named` returns, if the command takes --set.
void parse(CLI::App& app, std::vector<std::string> arguments, const FieldNamed& field_named = {});

// A check of an option's value: "" or what is wrong with it.
inline std::string is_not_empty(const std::string& value) {
  return value.empty() ? "is empty" : "";
}

}  // namespace smelt
