// smelt bench: the time of one training step on made-up examples.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_bench_command(CLI::App& app);

}  // namespace smelt
