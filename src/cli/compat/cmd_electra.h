// smelt electra: the command lines of the original ELECTRA programs.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

// Flags and defaults are those of google-research/electra's programs, with two differences: a
// boolean flag respects its value, and no folder is emptied.
void add_electra_command(CLI::App& app);

}  // namespace smelt::cli
