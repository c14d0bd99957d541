#include "io/filesystem/identity.h"

#include <filesystem>

#include "base/error.h"
#include "io/credentials/credentials.h"
#include "io/filesystem/metadata_server.h"

namespace smelt::io {
namespace {

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// Returns the account of a credentials file. Throws UsageError if credentials_in()
// (io/credentials/credentials.h) rejects the file, or if Google's storage client does not support
// its type.
Identity identity_in(const CredentialFields& file) {
  const Account who = credentials_in(file)->who();
  const std::string type = file.text("type");
  if (type == "external_account_authorized_user")
    file.refuse(str("credentials of type ", type, " cannot be used for gs:// paths"));
  Identity out{.words = type == "authorized_user" ? "the user who signed in with gcloud" : who.kind,
               .member = {},
               .secrets = file.secrets()};
  if (!who.account.empty() && type != "authorized_user") {
    out.words += " " + who.account;
    out.member = "serviceAccount:" + who.account;
  }
  out.words += str(" (", *credential_file_path(), ")");
  return out;
}

}  // namespace

Identity google_identity() {
  if (const auto file = find_credential_file()) return identity_in(*file);
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

}  // namespace smelt::io
