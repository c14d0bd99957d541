// Who smelt is to an object store.
#pragma once

#include <string>
#include <vector>

#include "io/http/secret.h"

namespace smelt {

struct Identity {
  std::string words;  // "service account x@y.iam.gserviceaccount.com (…)"
  std::string
      member;  // as IAM writes it, "serviceAccount:x@y.iam.gserviceaccount.com"; "" when not known
  bool anonymous = false;            // no credentials: only public objects can be read
  std::string remedy = {};           // the hint after a denied request; empty: the usual one
  std::vector<Secret> secrets = {};  // what a message about this identity must not contain
};

// Returns the account of Google's application default credentials: the file that
// find_credential_file() returns, or else the metadata server of a Google machine
// (io/filesystem/metadata_server.h). UsageError for a file that credentials_in() refuses;
// SystemError if the metadata server does not respond.
Identity google_identity();

// Where the AWS library takes its credentials from.
Identity aws_identity();

// Anonymous because somebody asked for it.
Identity chosen_anonymous(const std::string& why, const std::string& remedy = {});

}  // namespace smelt
