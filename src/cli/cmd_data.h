// smelt data bert | electra | tokens | convert | inspect | index | bench.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_data_command(CLI::App& app);

}  // namespace smelt
