// Which server a path on an object store is asked of, and whether that may be told who one is.
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

// The path's own options, before them CLOUD_STORAGE_EMULATOR_ENDPOINT as Google's clients
// understand it. A path may come from anywhere: only Google's and Amazon's own servers, this
// machine and those named in SMELT_TRUSTED_ENDPOINTS, a comma list of HOST or HOST:PORT, are sent
// credentials. UsageError for other options, and values that are no scheme, host or region.
Endpoint endpoint_of(const RemotePath& path);

}  // namespace smelt
