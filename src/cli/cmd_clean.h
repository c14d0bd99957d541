// smelt clean: what a run's folder need not hold any more.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_clean_command(CLI::App& app);

}  // namespace smelt
