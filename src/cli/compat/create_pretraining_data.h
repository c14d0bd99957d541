// smelt create_pretraining_data: flags, defaults and output of google-research/bert's program.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

void add_create_pretraining_data_command(CLI::App& app);

}  // namespace smelt::cli
