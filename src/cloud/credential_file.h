// A file of Google credentials: where it lies and what it holds. No message says a field's value
// but for names that are no secrets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "net/secret.h"
#include "net/url.h"

namespace smelt {

// By Google; who signs in again mends it.
class CredentialsRefused : public UsageError {
  using UsageError::UsageError;
};

// The value of a variable of the environment, "" when there is none.
std::string environment(const char* name);

// Where gcloud keeps its files: CLOUDSDK_CONFIG, else ~/.config/gcloud.
std::string gcloud_folder();

// An object of such a file; `where` names both in messages.
class CredentialFields {
 public:
  CredentialFields(const Json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  bool has(std::string_view name) const { return object_.contains(name); }
  // "" when it is missing. UsageError for what is no text.
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

  // UsageError "credentials: <where>: <what>".
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  Json object_;
  std::string where_;
};

// The file that GOOGLE_APPLICATION_CREDENTIALS names, else gcloud's own for programs; nothing when
// there is neither. UsageError for one that is named and missing, can be read by everyone though
// it holds a secret, or is no JSON object that names a type.
std::optional<CredentialFields> find_credential_file();

}  // namespace smelt
