// `smelt data overview`.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_data_overview_command(CLI::App& data);

}  // namespace smelt
