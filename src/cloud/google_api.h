// Calls of Google's REST APIs with JSON bodies and an access token, which is only sent to Google's
// servers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "cloud/token_source.h"
#include "io/http/http.h"
#include "io/http/url.h"

namespace smelt::cloud {

// A request.
struct ApiCall {
  std::string method = "GET";
  std::string service;  // "tpu" for tpu.googleapis.com
  std::string path;     // "/v2/projects/…", percent-encoded
  std::vector<std::pair<std::string, std::string>> query = {};
  Json body = {};
  std::optional<io::Repeat> repeat = {};
};

// An error response (google.rpc.Status).
struct ApiFault {
  int status = 0;       // HTTP status
  std::string code;     // "RESOURCE_EXHAUSTED"; "" if missing
  std::string reason;   // from google.rpc.ErrorInfo: "SERVICE_DISABLED"
  std::string message;  // sanitized for error messages
  // Whether the call may have been counted against gcloud's own project, because the user's
  // credentials have no quota project.
  bool lacks_quota_project = false;
};

// A response.
struct ApiAnswer {
  Json body;  // a JSON object, with unknown fields
  std::optional<ApiFault> fault = {};
};

// Returns the server of a service, such as "https://tpu.googleapis.com". It can be overridden by
// CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU, which gcloud also reads, and for "storage" also by
// kStorageEmulator, which Google's libraries also read. Throws UsageError if a token must not be
// sent to the server. Allowed are this machine, and with https Google's servers and trusted hosts
// (base/host.h).
io::Url api_server(const std::string& service);

inline constexpr const char* kStorageEmulator = "CLOUD_STORAGE_EMULATOR_ENDPOINT";

// A client of Google's REST APIs. Not thread-safe.
class GoogleApi {
 public:
  explicit GoogleApi(TokenSource tokens, io::HttpOptions options = {})
      : tokens_(std::move(tokens)), options_(std::move(options)), http_(options_) {}
  // Returns another client with the same token source, for another thread.
  GoogleApi beside() const { return GoogleApi(tokens_, options_); }

  const io::Account& who() const { return tokens_.who(); }
  io::Token token() { return tokens_.token(http_); }
  // Sends the request. Returns an error response as a value. Throws CredentialsRefused (a
  // UsageError) if the credentials are rejected, after one attempt with a new token, and
  // SystemError if the server does not respond or the response is not JSON.
  ApiAnswer call(const ApiCall& call);

 private:
  io::HttpAnswer send(io::HttpRequest& request);

  TokenSource tokens_;
  io::HttpOptions options_;
  io::HttpClient http_;
};

inline constexpr int kNotFound = 404, kOtherGeneration = 412;  // HTTP statuses

inline constexpr int kCallsAtOnce = 32;  // a moderate number of connections to one server
// Calls body(api, 0) to body(api, count - 1) on up to `at_once` threads, each with its own
// GoogleApi. If several throw, rethrows the exception with the lowest index.
void call_side_by_side(const GoogleApi& api, std::size_t count,
                       const std::function<void(GoogleApi&, std::size_t)>& body,
                       int at_once = kCallsAtOnce);

}  // namespace smelt::cloud
