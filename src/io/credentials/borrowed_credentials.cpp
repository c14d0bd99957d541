#include "io/credentials/borrowed_credentials.h"

#include <optional>

#include "base/error.h"
#include "base/host.h"
#include "io/credentials/jwt.h"
#include "io/credentials/redact.h"
#include "io/credentials/token_exchange.h"

namespace smelt::io {
namespace {

constexpr const char* kImpersonationUrl = "service_account_impersonation_url";

class ImpersonatedCredentials final : public Credentials {
 public:
  explicit ImpersonatedCredentials(const CredentialFields& file)
      : Credentials({"service account (impersonated)",
                     impersonated_account(file.google_url(kImpersonationUrl)), file.where(), "",
                     file.text("quota_project_id")}),
        url_(file.google_url(kImpersonationUrl)),
        delegates_(file.has("delegates") ? file.json().at("delegates") : Json()),
        own_(source_of(file)) {}

  Token fetch(HttpClient& http) const override {
    return impersonated_token(http, url_, own_->fetch(http).text, delegates_, who().source);
  }

 private:
  static std::unique_ptr<Credentials> source_of(const CredentialFields& file) {
    const CredentialFields source = file.object("source_credentials");
    if (source.text("type") == "impersonated_service_account")
      source.refuse("source_credentials must not be of this type as well; use delegates");
    return credentials_in(source);
  }

  Url url_;
  Json delegates_;
  std::unique_ptr<Credentials> own_;
};

// Returns whether this is an identity token server of GitHub or Azure, this machine, or a trusted
// host.
bool gives_identities(const Url& url) {
  const bool github = url.scheme == "https" && url.host.ends_with(".actions.githubusercontent.com");
  return github || url.host == "169.254.169.254" || is_loopback(url.host) ||
         (url.scheme == "https" && is_trusted_endpoint(url.host));
}

class ExternalCredentials final : public Credentials {
 public:
  explicit ExternalCredentials(const CredentialFields& file)
      : Credentials({"external account", account_in(file), file.where(), "",
                     file.text("quota_project_id")}),
        server_(file.google_url("token_url", "https://sts.googleapis.com/v1/token")),
        audience_(file.required("audience")),
        token_type_(file.required("subject_token_type")),
        source_(file.object("credential_source")) {
    if (file.has(kImpersonationUrl)) act_as_ = file.google_url(kImpersonationUrl);
    if (file.has("client_id"))
      basic_ = Secret(base64(str(file.required("client_id"), ":", file.text("client_secret"))));
    require_known_source();
  }

  Token fetch(HttpClient& http) const override {
    const Secret own = subject_token(http);
    Token token =
        token_for_form(http, server_,
                       {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                        {"audience", audience_},
                        {"scope", kScope},
                        {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                        {"subject_token", own.reveal()},
                        {"subject_token_type", token_type_}},
                       {own, basic_}, who().source, basic_);
    if (!act_as_) return token;
    return impersonated_token(http, *act_as_, token.text, {}, who().source);
  }

 private:
  static std::string account_in(const CredentialFields& file) {
    return file.has(kImpersonationUrl) ? impersonated_account(file.google_url(kImpersonationUrl))
                                       : "";
  }

  void require_known_source() {
    if (source_.has("executable"))
      source_.refuse("executable: smelt does not run programs that a credentials file names");
    if (!source_.text("environment_id").empty())
      source_.refuse(str("environment_id is ", source_.text("environment_id"),
                         ": smelt does not exchange keys of another cloud"));
    if (source_.has("file")) return;
    const Url url = parse_url(source_.required("url"), str("credentials: ", source_.where()));
    if (!gives_identities(url))
      throw UsageError(str("credentials: ", source_.where(), ": url: ", url.host,
                           " is not a known identity token server"),
                       str("if the server is trusted, set ", kTrustedEndpoints, "=", url.host));
  }

  Secret subject_token(HttpClient& http) const {
    const std::string text = source_.has("file")
                                 ? read_credential_file(source_.required("file"), source_.where())
                                 : asked(http);
    if (!source_.has("format")) return Secret(std::string(trim(text)));
    const CredentialFields format = source_.object("format");
    if (format.text("type") != "json") return Secret(std::string(trim(text)));
    const CredentialFields answer(Json::parse_or_discard(text),
                                  str(source_.where(), ": response of the credential source"));
    return answer.secret(format.required("subject_token_field_name"));
  }

  std::string asked(HttpClient& http) const {
    const Url url = parse_url(source_.required("url"), str("credentials: ", source_.where()));
    HttpRequest request{.url = url.text()};
    if (source_.has("headers")) {
      const CredentialFields headers = source_.object("headers");
      for (const auto& [name, value] : headers.json().items())
        request.headers.emplace_back(name, headers.required(name));
    }
    const HttpAnswer answer = http.send(request);
    if (answer.status != 200)
      source_.refuse(str(url.shown(), " returned HTTP status ", answer.status));
    return answer.body;
  }

  Url server_;
  std::string audience_, token_type_;
  CredentialFields source_;
  std::optional<Url> act_as_;
  Secret basic_;
};

}  // namespace

std::unique_ptr<Credentials> impersonated_credentials(const CredentialFields& file) {
  return std::make_unique<ImpersonatedCredentials>(file);
}

std::unique_ptr<Credentials> external_credentials(const CredentialFields& file) {
  return std::make_unique<ExternalCredentials>(file);
}

}  // namespace smelt::io
