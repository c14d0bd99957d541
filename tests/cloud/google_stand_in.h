// Google's servers for tokens and identities on the loopback, and the files of credentials that
// lead there. Every secret that such a file or server has begins with PLANTED.
#pragma once

#include <string>

#include "base/json.h"
#include "io/credentials/credential_file.h"
#include "support/environment.h"
#include "support/http_server.h"
#include "support/paths.h"

namespace smelt::cloud {

// In an answer's body it becomes what the request was.
inline constexpr const char* kEcho = "ECHO";

class GoogleStandIn {
 public:
  GoogleStandIn();

  // What the next requests are answered with, where it is set: by path.
  void answer(const std::string& path, ServedAnswer answer);
  int count(const std::string& path) const;
  ServedRequest last(const std::string& path) const;
  std::string url(const std::string& target) const { return server_.url(target); }
  std::string host() const { return server_.host(); }

  Json user() const;
  Json foreign_user() const;
  Json impersonated() const;  // by the user
  Json external(const Json& source) const;
  Json service_account(const std::string& key) const;

 private:
  ServedAnswer serve(const ServedRequest& request);

  std::mutex mutex_;
  std::map<std::string, ServedAnswer> answers_;
  HttpServer server_;
};

// A key that opens nothing, made anew.
std::string make_rsa_key(const std::string& file);

// A home without any credentials, and no machine of Google's.
class EmptyHome {
 public:
  const TempDir dir;
  // Becomes GOOGLE_APPLICATION_CREDENTIALS; readable by its owner alone.
  void name_file(const Json& content);
  std::string file() const { return dir.file("key.json"); }

 private:
  const ScopedVariable home_{"HOME", dir.path()}, config_{"CLOUDSDK_CONFIG"},
      named_{"GOOGLE_APPLICATION_CREDENTIALS"}, machine_{"GCE_METADATA_HOST", "127.0.0.1:1"},
      root_{"GCE_METADATA_ROOT", "127.0.0.1:1"}, project_{"GOOGLE_CLOUD_PROJECT"},
      core_{"CLOUDSDK_CORE_PROJECT"}, active_{"CLOUDSDK_ACTIVE_CONFIG_NAME"},
      trusted_{"SMELT_TRUSTED_ENDPOINTS"};
};

}  // namespace smelt::cloud
