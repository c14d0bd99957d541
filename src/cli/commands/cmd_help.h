// smelt help and smelt completion.
#pragma once

#include <memory>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace smelt::cli {

void add_help_command(CLI::App& app);
void add_completion_command(CLI::App& app);

// Prints the output of `smelt` without arguments.
void print_first_screen();

// Returns the formatter of the program's own help: commands by group, one per line, then flags. It
// must be set before commands are added; their own help keeps CLI11's formatter.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace smelt::cli
