#include "io/credentials/credentials.h"

#include "base/error.h"
#include "base/nearest_name.h"
#include "io/credentials/borrowed_credentials.h"
#include "io/credentials/jwt.h"
#include "io/credentials/token_exchange.h"

namespace smelt::io {
namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr const char* kTokenServer = "https://oauth2.googleapis.com/token";

Account who_in(const CredentialFields& file, const char* kind, const std::string& account) {
  return {kind, account, file.where(), file.text("project_id"), file.text("quota_project_id")};
}

// Credentials of 'gcloud auth application-default login'.
class UserCredentials final : public Credentials {
 public:
  explicit UserCredentials(const CredentialFields& file)
      : Credentials(who_in(file, "user", file.text("account"))),
        server_(file.google_url("token_uri", kTokenServer)),
        client_(file.required("client_id")),
        client_secret_(file.secret("client_secret")),
        refresh_(file.secret("refresh_token")) {}

  Token fetch(HttpClient& http) const override {
    return token_for_form(http, server_,
                          {{"grant_type", "refresh_token"},
                           {"refresh_token", refresh_.reveal()},
                           {"client_id", client_},
                           {"client_secret", client_secret_.reveal()}},
                          {refresh_, client_secret_}, who().source);
  }

 private:
  Url server_;
  std::string client_;
  Secret client_secret_, refresh_;
};

// A user of another organization, signed in by 'gcloud auth application-default login
// --login-config'.
class ForeignUserCredentials final : public Credentials {
 public:
  explicit ForeignUserCredentials(const CredentialFields& file)
      : Credentials(who_in(file, "user of another organization", "")),
        server_(file.google_url("token_url")),
        basic_(base64(str(file.required("client_id"), ":", file.required("client_secret")))),
        refresh_(file.secret("refresh_token")) {}

  Token fetch(HttpClient& http) const override {
    return token_for_form(http, server_,
                          {{"grant_type", "refresh_token"}, {"refresh_token", refresh_.reveal()}},
                          {refresh_, basic_}, who().source, basic_);
  }

 private:
  Url server_;
  Secret basic_, refresh_;
};

// A key file (Google, "Using OAuth 2.0 for Server to Server Applications").
class ServiceAccountCredentials final : public Credentials {
 public:
  explicit ServiceAccountCredentials(const CredentialFields& file)
      : Credentials(who_in(file, "service account", file.required("client_email"))),
        server_(file.google_url("token_uri", kTokenServer)),
        key_(file.secret("private_key")),
        key_id_(file.text("private_key_id")) {}

  Token fetch(HttpClient& http) const override {
    const auto now = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
    const Secret assertion = signed_claims({{"iss", who().account},
                                            {"scope", kScope},
                                            {"aud", server_.text()},
                                            {"iat", now},
                                            {"exp", now + 3600}},
                                           key_, key_id_, str("credentials: ", who().source));
    return token_for_form(http, server_,
                          {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                           {"assertion", assertion.reveal()}},
                          {assertion, key_}, who().source);
  }

 private:
  Url server_;
  Secret key_;
  std::string key_id_;
};

template <class Kind>
std::unique_ptr<Credentials> make(const CredentialFields& file) {
  return std::make_unique<Kind>(file);
}

struct CredentialType {
  const char* name;
  std::unique_ptr<Credentials> (*open)(const CredentialFields&);
};
constexpr CredentialType kTypes[]{
    {"authorized_user", &make<UserCredentials>},
    {"service_account", &make<ServiceAccountCredentials>},
    {"impersonated_service_account", &impersonated_credentials},
    {"external_account", &external_credentials},
    {"external_account_authorized_user", &make<ForeignUserCredentials>}};

class NoCredentials : public Credentials {
 public:
  explicit NoCredentials(const std::string& source)
      : Credentials({"anonymous", "", source, "", ""}) {}
  Token fetch(HttpClient& /*http*/) const override {
    return {Secret(), std::chrono::system_clock::time_point::max()};
  }
};

}  // namespace

std::unique_ptr<Credentials> no_credentials(const std::string& source) {
  return std::make_unique<NoCredentials>(source);
}

std::unique_ptr<Credentials> credentials_in(const CredentialFields& file) {
  const std::string universe = file.text("universe_domain");
  if (!universe.empty() && universe != "googleapis.com")
    file.refuse(str("universe_domain is ", universe, ", but only googleapis.com is supported"));
  const std::string type = file.required("type");
  std::vector<std::string> known;
  for (const CredentialType& each : kTypes) {
    if (type == each.name) return each.open(file);
    known.push_back(each.name);
  }
  file.refuse(str("credentials of type ", type, " are not supported; ", did_you_mean(type, known)));
}

std::unique_ptr<Credentials> google_credentials() {
  if (const auto file = find_credential_file()) return credentials_in(*file);
  if (auto machine = machine_credentials()) return machine;
  throw UsageError(
      str("credentials: none were found: GOOGLE_APPLICATION_CREDENTIALS is not set, ",
          gcloud_folder(), "/application_default_credentials.json does not exist, and ",
          "this is not a Google machine with a service account"),
      "gcloud auth application-default login");
}

}  // namespace smelt::io
