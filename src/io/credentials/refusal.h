// Hints for rejected Google API calls other than missing permissions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smelt::io {

// Returns the hint for Google's error message, or nullopt if it only names a missing permission.
// `api` is the service that rejected the call, such as "storage".
std::optional<std::string> refusal_hint(std::string_view message, std::string_view api);

}  // namespace smelt::io
