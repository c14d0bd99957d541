// Scripts by which shells complete the program's commands, flags and their values.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/field_help.h"

namespace CLI {
class App;
}

namespace smelt {

// A shell's script for `root` with all of its commands. After --set it completes `fields`.
std::string bash_completion(const CLI::App& root, const std::vector<CompletedField>& fields);
std::string zsh_completion(const CLI::App& root, const std::vector<CompletedField>& fields);
std::string fish_completion(const CLI::App& root, const std::vector<CompletedField>& fields);

}  // namespace smelt
