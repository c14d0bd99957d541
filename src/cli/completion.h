// Scripts by which shells complete the program's commands, flags and their values.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace smelt {

// `root` with all of its commands.
std::string bash_completion(const CLI::App& root);
std::string zsh_completion(const CLI::App& root);

}  // namespace smelt
