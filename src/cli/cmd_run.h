// smelt run RECIPE, smelt help recipe.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_run_command(CLI::App& app);
void add_help_command(CLI::App& app);

}  // namespace smelt
