// smelt cloud: who one is at Google.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_cloud_command(CLI::App& app);

}  // namespace smelt
