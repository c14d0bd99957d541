// smelt jestimator: the original JEstimator's command (estimator.py) for its pre-training modules.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

void add_jestimator_command(CLI::App& app);

}  // namespace smelt::cli
