// Client of the metadata server of Google machines.
#pragma once

#include <optional>
#include <string>

namespace smelt::io {

// Returns the value at computeMetadata/v1/<path>, or nullopt if the value does not exist or there
// is no metadata server. GCE_METADATA_HOST or GCE_METADATA_ROOT overrides the server's HOST:PORT.
// Throws SystemError if retries are exhausted.
std::optional<std::string> ask_metadata(const std::string& path);

}  // namespace smelt::io
