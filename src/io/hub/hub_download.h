// Downloads a file of the Hub into the cache.
#pragma once

#include <string>

#include "io/hub/hub_cache.h"
#include "io/hub/hub_client.h"
#include "io/hub/hub_path.h"

namespace smelt::io {

// Downloads the file at `path`, whose revision is a commit, unless its blob is in the cache.
// Continues an interrupted download, of this or another process, and checks the checksum; a file
// with a wrong one is downloaded again, at most once. Access tokens go to the Hub only, not
// to the servers to which it redirects. Throws UsageError if the file may not be read, SystemError
// for network errors, a full disk and a wrong checksum, and Stopped after a stop signal.
void download_blob(HubClient& client, const HubCache& cache, const HubPath& path,
                   const HubFile& file);

}  // namespace smelt::io
