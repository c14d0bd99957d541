// smelt status | compare | report: what runs have told of themselves (track/).
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_status_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_report_command(CLI::App& app);

}  // namespace smelt
