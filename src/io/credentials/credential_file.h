// Finds and reads a file of Google credentials. Messages never contain secret fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/http/secret.h"
#include "io/http/url.h"

namespace smelt {

// By Google, or an ssh key that is locked: a person signs in again, or unlocks it.
class CredentialsRefused : public UsageError {
  using UsageError::UsageError;
};

// Returns an environment variable, or "".
std::string environment(const char* name);

// Returns the content of a local file of at most 1 MiB. Throws UsageError "credentials: <where>: …"
// if it cannot be read or is larger.
std::string read_credential_file(const std::string& path, const std::string& where);

// Where gcloud keeps its files: CLOUDSDK_CONFIG, else ~/.config/gcloud.
std::string gcloud_folder();

// The path of gcloud's application default credentials, present or not: what
// GOOGLE_GCLOUD_ADC_PATH_OVERRIDE says, as for Google's client, else the file in that folder.
std::string gcloud_credentials_path();

// Makes Google's client for gs://, which searches for credentials and ignores CLOUDSDK_CONFIG, use
// the same file. Sets GOOGLE_GCLOUD_ADC_PATH_OVERRIDE, if that is not set, so that it reads the
// file which smelt checks. Call it before the program starts a thread: others may read the
// environment.
void lead_google_client_to_gcloud();

// How to replace credentials that cannot be used.
inline constexpr const char* kMakeNewCredentials =
    "make new ones with 'gcloud auth application-default login', or name another key file in "
    "GOOGLE_APPLICATION_CREDENTIALS";
// How to replace credentials that Google no longer accepts.
inline constexpr const char* kSignInAgain =
    "gcloud auth application-default login; or, for a service account, make a new key file";

// An object of such a file; `where` names both in messages.
class CredentialFields {
 public:
  CredentialFields(const Json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  bool has(std::string_view name) const { return object_.contains(name); }
  // Returns a field, or "". Throws UsageError if it is not a string.
  std::string text(std::string_view name) const;
  // UsageError also when it is missing or empty.
  std::string required(std::string_view name) const;
  Secret secret(std::string_view name) const { return Secret(required(name)); }
  // One of Google's, or trusted (base/host.h): UsageError for any other, which a file of unknown
  // origin could send secrets to. `fallback` stands for a missing one.
  Url google_url(std::string_view name, const char* fallback = nullptr) const;
  // The object in a field; `name` is added to the place in messages.
  CredentialFields object(std::string_view name) const;
  const Json& json() const { return object_; }
  // The keys, refresh tokens and client secrets in it and in the objects within it.
  std::vector<Secret> secrets() const;

  // UsageError "credentials: <where>: <what>".
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  Json object_;
  std::string where_;
};

// Returns the path of the file that GOOGLE_APPLICATION_CREDENTIALS names, else of gcloud's own for
// programs, or nullopt if there is neither.
std::optional<std::string> credential_file_path();

// Returns the fields of that file. Throws UsageError if a named file is missing, if everyone can
// read a file that contains a secret, or if it is not a JSON object with a type.
std::optional<CredentialFields> find_credential_file();

}  // namespace smelt
