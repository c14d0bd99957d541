// Who smelt is to an object store, in words fit for a message: never a secret.
#pragma once

#include <string>

namespace smelt {

struct Identity {
  std::string words;  // "service account x@y.iam.gserviceaccount.com (…)"
  std::string
      member;  // as IAM writes it, "serviceAccount:x@y.iam.gserviceaccount.com"; "" when not known
  bool anonymous = false;   // there are no credentials: only what is public can be read
  std::string remedy = {};  // the hint where something is denied, if it is not the usual one
};

// Where Google's application default credentials come from: the file named by
// GOOGLE_APPLICATION_CREDENTIALS, gcloud's own file, or the metadata server of a Google machine
// (store/metadata_server.h). UsageError when a file is named but cannot be used; SystemError when
// that server gives no answer.
Identity google_identity();

// Where the AWS library takes its credentials from.
Identity aws_identity();

// Anonymous because somebody asked for it.
Identity chosen_anonymous(const std::string& why, const std::string& remedy = {});

}  // namespace smelt
