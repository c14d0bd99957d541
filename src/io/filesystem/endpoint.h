// The server of an object store, and whether it may receive credentials.
#pragma once

#include <string>

#include "io/filesystem/path.h"

namespace smelt {

struct Endpoint {
  std::string scheme;           // "" = https
  std::string host;             // with its port; "" = Google's or Amazon's own
  std::string region;           // of S3; "" = to be looked up
  std::string no_secrets = {};  // in words, why no credentials are sent there; "" = they may be
  std::string remedy = {};      // the hint for that

  std::string options() const;  // "" or "?name=value&…", as Arrow takes them
};

// Returns the server for a path: CLOUD_STORAGE_EMULATOR_ENDPOINT, as Google's clients understand
// it, else the options of the path. A path may come from anyone, so only Google's and Amazon's
// servers, this machine and the hosts in SMELT_TRUSTED_ENDPOINTS (HOST or HOST:PORT, separated by
// commas) get credentials. Throws UsageError for unknown options and invalid values.
Endpoint endpoint_of(const RemotePath& path);

}  // namespace smelt
