// The server of a path on an object store, and whether it may receive credentials.
#pragma once

#include <string>

#include "io/filesystem/path.h"

namespace smelt::io {

struct Endpoint {
  std::string scheme;           // "" = https
  std::string host;             // with port; "" is Google's or Amazon's default server
  std::string region;           // S3 region; "" if it has to be looked up
  std::string no_secrets = {};  // reason why no credentials are sent; "" if they may be
  std::string remedy = {};      // hint for the user if no_secrets is set, else ""

  std::string options() const;  // returns "" or "?name=value&…" in Arrow's syntax
};

// Returns the server given by the path's options or by CLOUD_STORAGE_EMULATOR_ENDPOINT, which
// Google's clients also read. Because paths may come from untrusted files, credentials are only
// sent to Google's and Amazon's servers, to this machine and to hosts in SMELT_TRUSTED_ENDPOINTS, a
// comma-separated list of HOST or HOST:PORT. Throws UsageError for unknown options and invalid
// values.
Endpoint endpoint_of(const RemotePath& path);

}  // namespace smelt::io
