// The metadata server of Google's machines, as far as this room needs it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace smelt {

// The e-mail of the machine's default service account; nothing when no metadata server can be
// reached within a second (this is not a Google machine) or the machine has no account. One that
// can be reached is asked again until it answers; SystemError when it does not for all `patience`.
std::optional<std::string> metadata_server_account(
    std::chrono::milliseconds patience = std::chrono::seconds(15));

}  // namespace smelt
