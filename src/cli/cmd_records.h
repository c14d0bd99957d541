// smelt data index | bench: what concerns record files as such.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

// Below `data`.
void add_data_index_command(CLI::App& data);
void add_data_bench_command(CLI::App& data);

}  // namespace smelt
