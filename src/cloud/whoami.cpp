#include "cloud/whoami.h"

#include <filesystem>

#include "base/error.h"
#include "io/credentials/credential_file.h"
#include "io/credentials/json_text.h"
#include "io/filesystem/file.h"

namespace smelt::cloud {
namespace {

constexpr std::uint64_t kMostConfiguration = 1 << 20;

std::string content_of(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ? io::read_file(path, kMostConfiguration)
                                                         : "";
}

// Returns property `name` of a section such as "[core]".
std::string property(const std::string& text, std::string_view section, std::string_view name) {
  bool is_inside = false;
  for (const std::string_view raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    if (line.starts_with('[')) is_inside = line == section;
    const std::size_t equals = line.find('=');
    if (is_inside && equals != std::string_view::npos && trim(line.substr(0, equals)) == name)
      return std::string(trim(line.substr(equals + 1)));
  }
  return {};
}

// gcloud's active configuration: its name and content.
struct Configuration {
  std::string name, text;
};
Configuration active_configuration() {
  std::string active = io::environment("CLOUDSDK_ACTIVE_CONFIG_NAME");
  if (active.empty()) active = trim(content_of(io::gcloud_folder() + "/active_config"));
  if (active.empty()) active = "default";
  if (active.find('/') != std::string::npos) return {};
  return {active, content_of(str(io::gcloud_folder(), "/configurations/config_", active))};
}

Project gcloud_project() {
  const Configuration active = active_configuration();
  return {property(active.text, "[core]", "project"), str("gcloud's configuration ", active.name)};
}

// Returns the user's e-mail address from the OpenID Connect server; "" if the token does not permit
// it.
std::string user_account(GoogleApi& api) {
  const ApiAnswer answer = api.call({.service = "openidconnect", .path = "/v1/userinfo"});
  return io::text_in(answer.body, "email");
}

}  // namespace

Project google_project(const io::Account& who) {
  for (const char* variable : {"GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"})
    if (std::string name = io::environment(variable); !name.empty()) return {name, variable};
  if (!who.project.empty()) return {who.project, "the credentials"};
  if (Project project = gcloud_project(); !project.name.empty()) return project;
  if (!who.quota_project.empty()) return {who.quota_project, "quota_project_id"};
  return {};
}

std::string gcloud_zone() {
  const std::string zone = io::environment("CLOUDSDK_COMPUTE_ZONE");
  return zone.empty() ? property(active_configuration().text, "[compute]", "zone") : zone;
}

std::string project_of(const std::string& given, const GoogleApi& api) {
  const std::string name = given.empty() ? google_project(api.who()).name : given;
  if (name.empty())
    throw UsageError("cloud: no project is set", "--project NAME, or GOOGLE_CLOUD_PROJECT=NAME");
  return name;
}

Whoami whoami(GoogleApi& api) {
  const auto lasts = api.token().expires - std::chrono::system_clock::now();
  Whoami out{api.who(), google_project(api.who()),
             std::chrono::duration_cast<std::chrono::seconds>(lasts)};
  if (out.who.account.empty() && out.who.kind == "user") out.who.account = user_account(api);
  return out;
}

}  // namespace smelt::cloud
