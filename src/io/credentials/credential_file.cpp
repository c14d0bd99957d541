#include "io/credentials/credential_file.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/host.h"

namespace smelt::io {
namespace {

constexpr const char* kVariable = "GOOGLE_APPLICATION_CREDENTIALS";
constexpr const char* kClientsPath = "GOOGLE_GCLOUD_ADC_PATH_OVERRIDE";  // read by Google's client
constexpr std::size_t kMostCredentials = 1 << 20;

bool is_regular(const std::string& path, struct ::stat& facts) {
  return ::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

// Returns whether the file contains a secret. The file of an external account only describes how to
// get one.
bool holds_secret(const Json& file) { return file.value("type", "") != "external_account"; }

// Returns whether the file is on a read-only mount, as a Kubernetes secret is: its mode cannot be
// changed.
bool is_on_read_only_mount(const std::string& path) {
  struct ::statvfs facts{};
  return ::statvfs(path.c_str(), &facts) == 0 && (facts.f_flag & ST_RDONLY) != 0;
}

CredentialFields open_file(const std::string& path, const std::string& source) {
  const std::string where = str(path, " (", source, ")");
  struct ::stat facts{};
  if (!is_regular(path, facts))
    CredentialFields({}, where).refuse(S_ISDIR(facts.st_mode) ? "it is a folder, not a file"
                                                              : "the file does not exist");
  const auto json = Json::parse_or_discard(read_credential_file(path, where));
  const CredentialFields fields(json, where);
  if (!json.is_object()) fields.refuse("not a JSON object");
  if (fields.text("type").empty()) fields.refuse("it has no field 'type'");
  if (holds_secret(json) && (facts.st_mode & S_IROTH) != 0 && !is_on_read_only_mount(path))
    throw UsageError(str("credentials: ", where, ": every user of this machine can read it"),
                     str("chmod 600 '", path,
                         "'; for a Kubernetes secret set defaultMode: 0400, or mount it readOnly"));
  return fields;
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string read_credential_file(const std::string& path, const std::string& where) {
  std::ifstream file(path, std::ios::binary);
  std::string content(kMostCredentials + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad())
    throw UsageError(str("credentials: ", where, ": ", path, " cannot be read"),
                     str("ls -l '", path, "' shows whether it exists and who may read it"));
  if (content.size() > kMostCredentials)
    throw UsageError(str("credentials: ", where, ": ", path, " is larger than 1 MiB"),
                     kMakeNewCredentials);
  return content;
}

std::string gcloud_folder() {
  const std::string folder = environment("CLOUDSDK_CONFIG");
  return folder.empty() ? environment("HOME") + "/.config/gcloud" : folder;
}

std::string gcloud_credentials_path() {
  if (std::string path = environment(kClientsPath); !path.empty()) return path;
  return gcloud_folder() + "/application_default_credentials.json";
}

void lead_google_client_to_gcloud() {
  if (!environment("CLOUDSDK_CONFIG").empty() && environment(kClientsPath).empty())
    ::setenv(kClientsPath, gcloud_credentials_path().c_str(), 1);
}

void CredentialFields::refuse(std::string_view what) const {
  throw UsageError(str("credentials: ", where_, ": ", what), kMakeNewCredentials);
}

std::string CredentialFields::text(std::string_view name) const {
  const auto found = object_.find(name);
  if (found == object_.end() || found->is_null()) return {};
  if (!found->is_string()) refuse(str(name, " is not a string"));
  return found->get<std::string>();
}

std::string CredentialFields::required(std::string_view name) const {
  std::string value = text(name);
  if (value.empty()) refuse(str(name, " is missing"));
  return value;
}

CredentialFields CredentialFields::object(std::string_view name) const {
  const auto found = object_.find(name);
  if (found == object_.end() || !found->is_object()) refuse(str(name, " is missing"));
  return {*found, str(where_, ": ", name)};
}

Url CredentialFields::google_url(std::string_view name, const char* fallback) const {
  const std::string given = text(name);
  const std::string value = given.empty() && fallback != nullptr ? fallback : required(name);
  const Url url = parse_url(value, str("credentials: ", where_, ": ", name));
  if (is_loopback(url.host)) return url;
  if (url.scheme != "https") refuse(str(name, ": secrets are not sent over http, to ", url.host));
  const bool google = is_google_api(url.host) || url.host == "accounts.google.com";
  if (!google && !is_trusted_endpoint(url.host))
    throw UsageError(
        str("credentials: ", where_, ": ", name, ": ", url.host,
            " is not a Google server or a trusted server, so no credentials are sent to it"),
        str("if the server is trusted, set ", kTrustedEndpoints, "=", url.host));
  return url;
}

std::vector<Secret> CredentialFields::secrets() const {
  std::vector<Secret> out;
  for (const auto& [name, value] : object_.items()) {
    const bool is_secret =
        name == "private_key" || name == "client_secret" || name == "refresh_token";
    if (is_secret && value.is_string()) out.emplace_back(value.get<std::string>());
    if (value.is_object())
      for (Secret& inner : CredentialFields(value, where_).secrets())
        out.push_back(std::move(inner));
  }
  return out;
}

std::optional<std::string> credential_file_path() {
  if (std::string path = environment(kVariable); !path.empty()) return path;
  std::string path = gcloud_credentials_path();
  struct ::stat facts{};
  return is_regular(path, facts) ? std::optional(std::move(path)) : std::nullopt;
}

std::optional<CredentialFields> find_credential_file() {
  const auto path = credential_file_path();
  if (!path) return std::nullopt;
  return open_file(*path, environment(kVariable).empty() ? "gcloud's" : kVariable);
}

}  // namespace smelt::io
