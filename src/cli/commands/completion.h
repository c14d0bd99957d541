// Shell completion scripts for the program's commands, flags and values.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/field_help.h"

namespace CLI {
class App;
}

namespace smelt::cli {

// Each returns the script of one shell for `root` and its commands. `fields` complete after --set.
std::string bash_completion(const CLI::App& root, const std::vector<CompletedField>& fields);
std::string zsh_completion(const CLI::App& root, const std::vector<CompletedField>& fields);
std::string fish_completion(const CLI::App& root, const std::vector<CompletedField>& fields);

}  // namespace smelt::cli
