// The metadata server of Google's machines, as far as this room needs it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace smelt {

// Returns the value at computeMetadata/v1/<path>, trimmed. Returns nullopt if no metadata server
// can be reached within a second (this is not a Google machine), or it has no such value. A server
// that can be reached is retried; throws SystemError if it does not respond within `patience`.
std::optional<std::string> metadata_server_value(const std::string& path,
                                                 std::chrono::milliseconds patience);

// Returns the e-mail address of the machine's default service account, or nullopt if it has none.
std::optional<std::string> metadata_server_account(
    std::chrono::milliseconds patience = std::chrono::seconds(15));

}  // namespace smelt
