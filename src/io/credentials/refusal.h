// Hints for errors of Google's APIs other than missing permissions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smelt {

// Returns the hint for a refusal by Google's words for it, or nullopt if they name nothing but a
// missing permission. `api` is the service that refused, such as "storage".
std::optional<std::string> refusal_hint(std::string_view message, std::string_view api);

}  // namespace smelt
