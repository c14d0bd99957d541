// smelt pod: which process of a pod a command would be here, and why.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_pod_command(CLI::App& app);

}  // namespace smelt
