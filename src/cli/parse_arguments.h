// A command line as CLI11 parses it, with its faults in our words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace smelt {

std::vector<std::string> arguments_of(int argc, char** argv);

// Runs the command's callback. UsageError for what the command does not know or cannot take;
// CLI::Success is thrown on, as for --help.
void parse(CLI::App& app, std::vector<std::string> arguments);

}  // namespace smelt
