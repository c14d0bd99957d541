// smelt vocab train: a WordPiece vocabulary from text.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_vocab_command(CLI::App& app);

}  // namespace smelt
