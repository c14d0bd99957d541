// smelt metrics: scores of predictions against references, with intervals, and two models compared.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_metrics_command(CLI::App& app);

}  // namespace smelt
