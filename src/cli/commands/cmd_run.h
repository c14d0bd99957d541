// smelt run RECIPE.
#pragma once

#include <memory>

#include "pipeline/stages/pipeline.h"

namespace CLI {
class App;
}

namespace smelt::cli {

// Runs a recipe, prints its evaluation and sends it as an event (base/events.h).
void run_and_report(const pipeline::Recipe& recipe, const pipeline::Beginning& beginning = {});

// Adds the flag --stop-with-input. If the result is true, the command must call
// stop_at_end_of_input() before its work.
std::shared_ptr<bool> add_stop_with_input_flag(CLI::App& command);
// Sends SIGTERM to this process at the end of standard input, so that it saves a checkpoint and
// ends if the program that started it ends in any way.
void stop_at_end_of_input();

void add_run_command(CLI::App& app);

}  // namespace smelt::cli
