// smelt electra …: the original ELECTRA programs' command lines under their own names.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

// Flags and defaults of google-research/electra's programs, but that a flag's value means what it
// says and that no folder is emptied.
void add_electra_command(CLI::App& app);

}  // namespace smelt
