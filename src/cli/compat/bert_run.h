// `smelt run_pretraining`: the original BERT's run_pretraining.py, its flags, defaults, printed
// metrics and files.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

void add_run_pretraining_command(CLI::App& app);

}  // namespace smelt::cli
