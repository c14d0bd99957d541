// smelt cloud prices: what TPUs cost, and since when that is known.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_prices_command(CLI::App& cloud);

}  // namespace smelt
