// smelt setup: fetches the plugin of a device.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_setup_command(CLI::App& app);

}  // namespace smelt
