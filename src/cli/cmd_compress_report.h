// smelt compress report and load.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_compress_report_commands(CLI::App& compress);

}  // namespace smelt
