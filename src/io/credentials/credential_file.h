// A Google credentials file: its location and fields. Messages never show the value of a field that
// may be secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/http/secret.h"
#include "io/http/url.h"

namespace smelt::io {

// Thrown if Google rejects the credentials or an ssh key is locked; the user has to sign in again
// or unlock the key.
class CredentialsRefused : public UsageError {
  using UsageError::UsageError;
};

// Returns an environment variable, or "" if it is unset.
std::string environment(const char* name);

// Returns the content of a local file. Throws UsageError "credentials: <where>: …" if it is
// unreadable or larger than 1 MiB.
std::string read_credential_file(const std::string& path, const std::string& where);

// Returns gcloud's configuration folder: CLOUDSDK_CONFIG, or else ~/.config/gcloud.
std::string gcloud_folder();

// Returns the path of gcloud's application default credentials, whether or not the file exists:
// GOOGLE_GCLOUD_ADC_PATH_OVERRIDE if it is set, or else the file in gcloud_folder().
std::string gcloud_credentials_path();

// Sets GOOGLE_GCLOUD_ADC_PATH_OVERRIDE if it is not set, so that Google's client for gs:// uses the
// same credentials file as smelt; Google's client ignores CLOUDSDK_CONFIG, which smelt respects.
// Must be called before the program starts a thread, because threads may read the environment.
void lead_google_client_to_gcloud();

// How to replace credentials that cannot be used.
inline constexpr const char* kMakeNewCredentials =
    "make new ones with 'gcloud auth application-default login', or name another key file in "
    "GOOGLE_APPLICATION_CREDENTIALS";
// How to replace credentials that Google no longer accepts.
inline constexpr const char* kSignInAgain =
    "gcloud auth application-default login; or, for a service account, make a new key file";

// A JSON object in a credentials file. `where` names the file and object in messages.
class CredentialFields {
 public:
  CredentialFields(const Json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  bool has(std::string_view name) const { return object_.contains(name); }
  // Returns a text field, or "" if it is missing. Throws UsageError for another type.
  std::string text(std::string_view name) const;
  // Returns a text field. Throws UsageError if it is missing, empty or of another type.
  std::string required(std::string_view name) const;
  Secret secret(std::string_view name) const { return Secret(required(name)); }
  // Returns a URL of a Google or trusted host (base/host.h). Throws UsageError for any other host,
  // because a file of unknown origin could send secrets to it. `fallback` is the default for a
  // missing field.
  Url google_url(std::string_view name, const char* fallback = nullptr) const;
  // Returns the object in a field. `name` is appended to `where` in messages.
  CredentialFields object(std::string_view name) const;
  const Json& json() const { return object_; }
  // Returns the keys, refresh tokens and client secrets in this object and in nested objects.
  std::vector<Secret> secrets() const;

  // Throws UsageError "credentials: <where>: <what>".
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  Json object_;
  std::string where_;
};

// Returns the path of the file that GOOGLE_APPLICATION_CREDENTIALS names, or else of gcloud's
// application default credentials; nullopt if neither exists.
std::optional<std::string> credential_file_path();

// Reads the file at credential_file_path(); returns nullopt if there is none. Throws UsageError if
// GOOGLE_APPLICATION_CREDENTIALS names a missing file, if the file contains a secret and every user
// can read it, or if it is not a JSON object with a type.
std::optional<CredentialFields> find_credential_file();

}  // namespace smelt::io
