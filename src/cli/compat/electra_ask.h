// smelt electra detect and smelt electra fill: inference with a model that was trained by
// `smelt electra run_pretraining`.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

void add_electra_ask(CLI::App& electra);

}  // namespace smelt::cli
