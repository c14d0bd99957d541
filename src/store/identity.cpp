#include "store/identity.h"

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "store/file.h"
#include "store/metadata_server.h"

namespace smelt {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Only names are taken from the file.
Identity identity_in(const std::string& path, const std::string& source) {
  const auto wrong = [&](const std::string& what) {
    return UsageError(
        str("credentials: ", path, " (", source, "): ", what),
        "make new ones with 'gcloud auth application-default login', or name another key file "
        "in GOOGLE_APPLICATION_CREDENTIALS");
  };
  if (!file_exists(path)) throw wrong("there is no such file");
  const auto json = Json::parse_or_discard(read_file(path));
  if (!json.is_object()) throw wrong("not a JSON object");
  const auto text = [&](const char* name) {
    return json.contains(name) && json.at(name).is_string() ? json.at(name).get<std::string>()
                                                            : std::string();
  };
  const std::string type = text("type");
  if (type.empty()) throw wrong("it names no type of credentials");
  if (const std::string email = text("client_email"); type == "service_account" && !email.empty())
    return {str("service account ", email, " (", path, ")"), str("serviceAccount:", email), false};
  if (type == "authorized_user")
    return {str("the user who signed in with gcloud (", path, ")"), "", false};
  return {str("credentials of type ", type, " (", path, ")"), "", false};
}

}  // namespace

Identity google_identity() {
  if (const std::string path = environment("GOOGLE_APPLICATION_CREDENTIALS"); !path.empty())
    return identity_in(path, "GOOGLE_APPLICATION_CREDENTIALS");
  const std::string gcloud =
      environment("HOME") + "/.config/gcloud/application_default_credentials.json";
  if (file_exists(gcloud)) return identity_in(gcloud, "gcloud's");
  if (const auto email = metadata_server_account())
    return {str("service account ", *email, " (of this machine)"), str("serviceAccount:", *email),
            false};
  return {"anonymous (no credentials were found)", "allUsers", true};
}

Identity chosen_anonymous(const std::string& why, const std::string& remedy) {
  return {str("anonymous (", why, ")"), "allUsers", true, remedy};
}

Identity aws_identity() {
  if (!environment("AWS_ACCESS_KEY_ID").empty()) return {"the key in AWS_ACCESS_KEY_ID", "", false};
  if (const std::string role = environment("AWS_ROLE_ARN"); !role.empty())
    return {str("role ", role, " (AWS_ROLE_ARN)"), "", false};
  std::string file = environment("AWS_SHARED_CREDENTIALS_FILE");
  if (file.empty()) file = environment("HOME") + "/.aws/credentials";
  const std::string profile = environment("AWS_PROFILE");
  if (file_exists(file))
    return {str("profile ", profile.empty() ? "default" : profile, " (", file, ")"), "", false};
  return {"this machine's role, or anonymous (no credentials were found)", "", true};
}

}  // namespace smelt
