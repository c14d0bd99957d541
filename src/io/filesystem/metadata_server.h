// The metadata server of Google's machines, as far as this room needs it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace smelt {

// The value at computeMetadata/v1/<path>, without white space at its ends; nothing when no metadata
// server can be reached within a second (this is not a Google machine), or it has none. One that
// can be reached is asked again until it answers; SystemError when it does not for all `patience`.
std::optional<std::string> metadata_server_value(const std::string& path,
                                                 std::chrono::milliseconds patience);

// The e-mail of the machine's default service account, asked for likewise; nothing where it has
// none.
std::optional<std::string> metadata_server_account(
    std::chrono::milliseconds patience = std::chrono::seconds(15));

}  // namespace smelt
