#include "cloud/google_stand_in.h"

#include <sys/stat.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/command.h"

namespace smelt::cloud {

namespace {

// Returns the body and headers of a request, URL-decoded and as sent, escaped for a JSON string.
std::string echo_of(const ServedRequest& request) {
  std::string text = request.body;
  for (const auto& [name, value] : request.headers) text += str(" ", name, ": ", value);
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    decoded += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  const std::string quoted = Json(str(decoded, " ", text)).dump();
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

GoogleStandIn::GoogleStandIn()
    : server_([this](const ServedRequest& request) { return serve(request); }) {}

ServedAnswer GoogleStandIn::serve(const ServedRequest& request) {
  const std::lock_guard lock(mutex_);
  if (const auto found = answers_.find(request.target); found != answers_.end()) {
    ServedAnswer answer = found->second;
    if (const std::size_t at = answer.body.find(kEcho); at != std::string::npos)
      answer.body.replace(at, std::string_view(kEcho).size(), echo_of(request));
    return answer;
  }
  const Json token{{"access_token", "PLANTED-access"}, {"expires_in", 3599}};
  if (request.target == "/token") return {200, token.dump()};
  if (request.target == "/iam/serviceAccounts/robot@p.iam.gserviceaccount.com:generateAccessToken")
    return {200, R"({"accessToken": "PLANTED-robot", "expireTime": "2100-01-02T03:04:05.6Z"})"};
  if (request.target == "/subject") return {200, R"({"value": "PLANTED-subject"})"};
  if (request.target == "/v1/userinfo") return {200, R"({"email": "me@example.org"})"};
  return {404, "no such path"};
}

void GoogleStandIn::answer(const std::string& path, ServedAnswer answer) {
  const std::lock_guard lock(mutex_);
  answers_[path] = std::move(answer);
}

int GoogleStandIn::count(const std::string& path) const {
  int count = 0;
  for (const ServedRequest& request : server_.requests()) count += request.target == path ? 1 : 0;
  return count;
}

ServedRequest GoogleStandIn::last(const std::string& path) const {
  ServedRequest found;
  for (const ServedRequest& request : server_.requests())
    if (request.target == path) found = request;
  CHECK(found.target == path, path);
  return found;
}

Json GoogleStandIn::user() const {
  return {{"type", "authorized_user"},         {"client_id", "client"},
          {"client_secret", "PLANTED-client"}, {"refresh_token", "PLANTED/refresh+"},
          {"quota_project_id", "billed"},      {"token_uri", url("token")}};
}

Json GoogleStandIn::foreign_user() const {
  return {{"type", "external_account_authorized_user"},
          {"client_id", "client"},
          {"client_secret", "PLANTED-client"},
          {"refresh_token", "PLANTED/refresh+"},
          {"token_url", url("token")}};
}

Json GoogleStandIn::impersonated() const {
  return {{"type", "impersonated_service_account"},
          {"service_account_impersonation_url",
           url("iam/serviceAccounts/robot@p.iam.gserviceaccount.com:generateAccessToken")},
          {"delegates", {"between@p"}},
          {"source_credentials", user()}};
}

Json GoogleStandIn::external(const Json& source) const {
  return {{"type", "external_account"},
          {"audience", "//iam.googleapis.com/x"},
          {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
          {"token_url", url("token")},
          {"credential_source", source}};
}

Json GoogleStandIn::service_account(const std::string& key) const {
  return {{"type", "service_account"},
          {"project_id", "p"},
          {"private_key_id", "7"},
          {"private_key", key},
          {"client_email", "robot@p.iam.gserviceaccount.com"},
          {"token_uri", url("token")}};
}

std::string make_rsa_key(const std::string& file) {
  const CommandOutput made = run_command("openssl genrsa -out " + file + " 2048");
  CHECK(made.status == 0, made.text);
  return io::read_file(file);
}

void EmptyHome::name_file(const Json& content) {
  io::write_file(file(), content.dump());
  CHECK(::chmod(file().c_str(), 0600) == 0);
  ::setenv("GOOGLE_APPLICATION_CREDENTIALS", file().c_str(), 1);
}

}  // namespace smelt::cloud
