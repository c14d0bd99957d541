// What a machine of Google's knows of itself: its metadata server.
#pragma once

#include <optional>
#include <string>

namespace smelt {

// The value at computeMetadata/v1/<path>; nothing when there is none, and where no such server
// answers, as on every other machine. GCE_METADATA_HOST, or GCE_METADATA_ROOT, names HOST:PORT
// instead of its address. SystemError when it goes on saying "later".
std::optional<std::string> ask_metadata(const std::string& path);

}  // namespace smelt
