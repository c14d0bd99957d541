// Calls of Google's REST APIs: JSON in, JSON out, with a token for Google's own servers.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "cloud/token_source.h"
#include "io/http/http.h"
#include "io/http/url.h"

namespace smelt {

struct ApiCall {
  std::string method = "GET";
  std::string service;  // "tpu", of tpu.googleapis.com
  std::string path;     // "/v2/projects/…", percent-encoded
  std::vector<std::pair<std::string, std::string>> query = {};
  Json body = {};
  std::optional<Repeat> repeat = {};
};

// google.rpc.Status of a refusal.
struct ApiFault {
  int status = 0;       // of HTTP
  std::string code;     // "RESOURCE_EXHAUSTED"; "" when it is not told
  std::string reason;   // of its google.rpc.ErrorInfo: "SERVICE_DISABLED"
  std::string message;  // fit for a message
  // Whether the call may have been counted on gcloud's own project, as the credentials of a user
  // name no quota project.
  bool lacks_quota_project = false;
};

struct ApiAnswer {
  Json body;  // an object; unknown fields are kept
  std::optional<ApiFault> fault = {};
};

// "https://tpu.googleapis.com", or what CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU says, as gcloud takes
// it; of "storage" also kStorageEmulator, as Google's libraries take it. UsageError for a server
// that no token may be sent to: one that is neither Google's, nor this machine, nor trusted
// (base/host.h), and http to all but this machine.
Url api_server(const std::string& service);

inline constexpr const char* kStorageEmulator = "CLOUD_STORAGE_EMULATOR_ENDPOINT";

// For one thread at a time.
class GoogleApi {
 public:
  explicit GoogleApi(TokenSource tokens, HttpOptions options = {})
      : tokens_(std::move(tokens)), options_(std::move(options)), http_(options_) {}
  // Another, for another thread, with the same token.
  GoogleApi beside() const { return GoogleApi(tokens_, options_); }

  const Who& who() const { return tokens_.who(); }
  Token token() { return tokens_.token(http_); }
  // A refusal is a value, but for credentials that are not accepted, which are a UsageError (a
  // token that is not accepted is taken anew once). SystemError for no answer and for one that is
  // no JSON.
  ApiAnswer call(const ApiCall& call);

 private:
  HttpAnswer send(HttpRequest& request);

  TokenSource tokens_;
  HttpOptions options_;
  HttpClient http_;
};

inline constexpr int kNotFound = 404, kOtherGeneration = 412;  // statuses

// Calls body(api, 0), …, body(api, count - 1) on up to `at_once` threads, each with a GoogleApi
// of its own. Of several exceptions the one of the lowest number is thrown.
inline constexpr int kCallsAtOnce = 32;  // connections to one server that do no harm
void call_side_by_side(const GoogleApi& api, std::size_t count,
                       const std::function<void(GoogleApi&, std::size_t)>& body,
                       int at_once = kCallsAtOnce);

}  // namespace smelt
