// The flags of a WordPiece tokenizer, the same in every command that has one.
#pragma once

#include <CLI/CLI.hpp>

#include "text/tokenizer_config.h"

namespace smelt {

// The flags must live until the command line is parsed. What is not given stays unset: as stored beside the
// vocabulary, else the default.
void add_tokenizer_flags(CLI::App& command, TokenizerFlags& flags);

}  // namespace smelt
