// The identity that smelt uses for an object store.
#pragma once

#include <string>
#include <vector>

#include "io/http/secret.h"

namespace smelt::io {

struct Identity {
  std::string words;   // "service account x@y.iam.gserviceaccount.com (…)"
  std::string member;  // IAM member, "serviceAccount:x@y.iam.gserviceaccount.com"; "" if unknown
  bool anonymous = false;            // no credentials, so only public data is readable
  std::string remedy = {};           // hint for a denied access, if not the usual one
  std::vector<Secret> secrets = {};  // secrets that messages must not contain
};

// Returns the account of Google's application default credentials: the file that
// find_credential_file() returns, or else the metadata server of a Google machine
// (io/filesystem/metadata_server.h). Throws UsageError for a file that credentials_in() rejects,
// SystemError if the metadata server does not respond.
Identity google_identity();

// Returns a description of the place where the AWS library finds its credentials.
Identity aws_identity();

// Returns an anonymous identity that was requested by the user.
Identity chosen_anonymous(const std::string& why, const std::string& remedy = {});

}  // namespace smelt::io
