// smelt run RECIPE.
#pragma once

#include "pipeline/stages/pipeline.h"

namespace CLI {
class App;
}

namespace smelt::cli {

// Runs a recipe, prints its evaluation and sends it as an event (base/events.h).
void run_and_report(const pipeline::Recipe& recipe, const pipeline::Beginning& beginning = {});

void add_run_command(CLI::App& app);

}  // namespace smelt::cli
