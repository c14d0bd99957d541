// Client of the metadata server of Google machines, for object stores.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace smelt::io {

// Returns the value at computeMetadata/v1/<path> without surrounding white space. Returns nullopt
// if the value does not exist, or if no metadata server is reachable within a second (not a Google
// machine). Retries a reachable server; throws SystemError if it does not reply within `patience`.
std::optional<std::string> metadata_server_value(const std::string& path,
                                                 std::chrono::milliseconds patience);

// Returns the e-mail address of the machine's default service account, or nullopt if it has none.
// Throws like metadata_server_value().
std::optional<std::string> metadata_server_account(
    std::chrono::milliseconds patience = std::chrono::seconds(15));

}  // namespace smelt::io
