// smelt data inspect: what is in record files.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

// Below `data`.
void add_data_inspect_command(CLI::App& data);

}  // namespace smelt
