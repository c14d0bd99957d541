// The metadata server of Google's machines, as far as this room needs it.
#pragma once

#include <optional>
#include <string>

namespace smelt {

// The e-mail of the machine's default service account; nothing when no metadata server answers
// within a second (this is not a Google machine) or the machine has no account.
std::optional<std::string> metadata_server_account();

}  // namespace smelt
