// A stand-in on the loopback interface for Google's token and identity servers, and credentials
// files that refer to it. Every secret in these files and responses begins with PLANTED.
#pragma once

#include <string>

#include "base/json.h"
#include "io/credentials/credential_file.h"
#include "support/environment.h"
#include "support/http_server.h"
#include "support/paths.h"

namespace smelt::cloud {

// Placeholder in a response body; it is replaced with the body and headers of the request.
inline constexpr const char* kEcho = "ECHO";

class GoogleStandIn {
 public:
  GoogleStandIn();

  // Sets the response to all further requests for the path.
  void answer(const std::string& path, ServedAnswer answer);
  int count(const std::string& path) const;
  ServedRequest last(const std::string& path) const;
  std::string url(const std::string& target) const { return server_.url(target); }
  std::string host() const { return server_.host(); }

  Json user() const;
  Json foreign_user() const;
  Json impersonated() const;  // a service account that user() impersonates
  Json external(const Json& source) const;
  Json service_account(const std::string& key) const;

 private:
  ServedAnswer serve(const ServedRequest& request);

  std::mutex mutex_;
  std::map<std::string, ServedAnswer> answers_;
  HttpServer server_;
};

// Writes a new RSA key, which gives access to nothing, to the file and returns it.
std::string make_rsa_key(const std::string& file);

// An environment with an empty home folder, without credentials and without a metadata server.
class EmptyHome {
 public:
  const TempDir dir;
  // Writes a credentials file that only its owner can read, and sets
  // GOOGLE_APPLICATION_CREDENTIALS to it.
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
