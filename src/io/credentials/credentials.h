// Google's application default credentials: who smelt is, and tokens for that. Tokens are in memory
// only.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "io/credentials/credential_file.h"
#include "io/http/http.h"
#include "io/http/secret.h"

namespace smelt {

// For any of Google's APIs; what may be done is decided by IAM.
inline constexpr const char* kScope = "https://www.googleapis.com/auth/cloud-platform";

struct Token {
  Secret text;
  std::chrono::system_clock::time_point expires;
};

// Who one is, in words fit for a message; "" is what is not known.
struct Who {
  std::string kind;     // "user", "service account", …
  std::string account;  // an email address
  std::string source;   // "/path/key.json (GOOGLE_APPLICATION_CREDENTIALS)"
  std::string project;  // that the credentials themselves name
  std::string quota_project;

  // Whether calls are counted on gcloud's own project: of a user without a quota project.
  bool lacks_quota_project() const { return kind.starts_with("user") && quota_project.empty(); }
};

// The command that names the project on which a user's calls are counted.
inline std::string quota_project_command(const std::string& project) {
  return "gcloud auth application-default set-quota-project " + project;
}

class Credentials {
 public:
  explicit Credentials(Who who) : who_(std::move(who)) {}
  virtual ~Credentials() = default;
  const Who& who() const { return who_; }
  // A new one each time. UsageError when the credentials are not accepted, SystemError when nobody
  // answers.
  virtual Token fetch(HttpClient& http) const = 0;

 private:
  Who who_;
};

// Returns the credentials of a file. Throws UsageError for missing fields and unknown types.
std::unique_ptr<Credentials> credentials_in(const CredentialFields& file);

// Returns the credentials of this machine if it is one of Google's, else null. GCE_METADATA_HOST or
// GCE_METADATA_ROOT replace the address of the metadata server.
std::unique_ptr<Credentials> machine_credentials();

// Nobody's: no token is sent. `source` says why.
std::unique_ptr<Credentials> no_credentials(const std::string& source);

// Returns the credentials of a file (find_credential_file), else this machine's. Throws UsageError
// if there are neither.
std::unique_ptr<Credentials> google_credentials();

}  // namespace smelt
