// smelt electra run_pretraining: the original's command for training and evaluation.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

void add_electra_run_pretraining(CLI::App& electra);

}  // namespace smelt::cli
