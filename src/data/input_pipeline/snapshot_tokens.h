// The tokens of a snapshot folder as an array.
#pragma once

#include <memory>
#include <string>

#include "data/input_pipeline/token_file.h"

namespace smelt::data {

// Opens a snapshot as described for open_token_file().
std::unique_ptr<TokenFile> open_snapshot_tokens(const std::string& path, TokenMemory& memory);

}  // namespace smelt::data
