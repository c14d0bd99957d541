// smelt cloud: who one is at Google, and which TPUs there are.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_cloud_command(CLI::App& app);

}  // namespace smelt
