// smelt run RECIPE.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_run_command(CLI::App& app);

}  // namespace smelt
