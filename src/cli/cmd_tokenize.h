// smelt tokenize: text to pieces and back.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_tokenize_command(CLI::App& app);

}  // namespace smelt
