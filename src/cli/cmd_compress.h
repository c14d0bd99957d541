// smelt compress: smaller models of fine-tuned ones.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_compress_command(CLI::App& app);

}  // namespace smelt
