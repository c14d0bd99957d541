// smelt help [recipe], smelt completion.
#pragma once

#include <memory>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace smelt {

void add_help_command(CLI::App& app);
void add_completion_command(CLI::App& app);

// What `smelt` without arguments prints.
void print_first_screen();

// The program's own help: its commands, a line each and by what they are for, then the flags.
// Must be set before commands are added, whose help it leaves as it is.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace smelt
