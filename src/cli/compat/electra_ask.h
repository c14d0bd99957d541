// smelt electra detect, smelt electra fill: a model of `smelt electra run_pretraining` answers.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_electra_ask(CLI::App& electra);

}  // namespace smelt
