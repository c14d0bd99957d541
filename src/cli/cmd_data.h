// smelt data bert | electra | inspect, and the original program's command line under its own name.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_data_command(CLI::App& app);

// `smelt create_pretraining_data`: flags, defaults and output of google-research/bert's program.
void add_create_pretraining_data_command(CLI::App& app);

}  // namespace smelt
