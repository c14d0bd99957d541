// Google's application default credentials and their access tokens. Tokens are only held in memory.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "io/credentials/credential_file.h"
#include "io/http/http.h"
#include "io/http/secret.h"

namespace smelt::io {

// The OAuth scope for all Google APIs; IAM decides what is permitted.
inline constexpr const char* kScope = "https://www.googleapis.com/auth/cloud-platform";

struct Token {
  Secret text;
  std::chrono::system_clock::time_point expires;
};

// A description of the identity for messages; unknown fields are "".
struct Account {
  std::string kind;     // "user", "service account", …
  std::string account;  // an email address
  std::string source;   // "/path/key.json (GOOGLE_APPLICATION_CREDENTIALS)"
  std::string project;  // project named in the credentials
  std::string quota_project;

  // Returns whether API calls are billed to gcloud's own project, as for a user without a quota
  // project.
  bool lacks_quota_project() const { return kind.starts_with("user") && quota_project.empty(); }
};

// Returns the gcloud command that sets the quota project of a user.
inline std::string quota_project_command(const std::string& project) {
  return "gcloud auth application-default set-quota-project " + project;
}

class Credentials {
 public:
  explicit Credentials(Account who) : who_(std::move(who)) {}
  virtual ~Credentials() = default;
  const Account& who() const { return who_; }
  // Fetches a new token. Throws UsageError if the credentials are rejected, SystemError if the
  // server does not respond.
  virtual Token fetch(HttpClient& http) const = 0;

 private:
  Account who_;
};

// Returns the credentials in a file. Throws UsageError for missing fields and unknown types.
std::unique_ptr<Credentials> credentials_in(const CredentialFields& file);

// Returns the credentials of this Google machine from its metadata server (at GCE_METADATA_HOST or
// GCE_METADATA_ROOT if set), or null on other machines.
std::unique_ptr<Credentials> machine_credentials();

// Returns anonymous credentials, which send no token. `source` gives the reason.
std::unique_ptr<Credentials> no_credentials(const std::string& source);

// Returns the credentials in a file (find_credential_file), or else this machine's. Throws
// UsageError if there are neither.
std::unique_ptr<Credentials> google_credentials();

}  // namespace smelt::io
