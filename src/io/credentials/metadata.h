// The metadata server of a Google machine.
#pragma once

#include <optional>
#include <string>

namespace smelt {

// Returns the value at computeMetadata/v1/<path>, or nullopt if it does not exist or no such server
// responds, as on all other machines. GCE_METADATA_HOST or GCE_METADATA_ROOT replace the server's
// address by HOST:PORT. Throws SystemError if the server only returns temporary errors.
std::optional<std::string> ask_metadata(const std::string& path);

}  // namespace smelt
