// smelt detect: which tokens of a text a discriminator holds for replaced.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_detect_command(CLI::App& app);

}  // namespace smelt
