// Calls of Google's REST APIs: JSON in, JSON out, with a token for Google's own servers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "cloud/token_source.h"
#include "net/http.h"
#include "net/url.h"

namespace smelt {

struct ApiCall {
  std::string method = "GET";
  std::string service;  // "tpu", of tpu.googleapis.com
  std::string path;     // "/v2/projects/…", percent-encoded
  std::vector<std::pair<std::string, std::string>> query = {};
  nlohmann::json body = {};
  std::optional<Repeat> repeat = {};
};

// google.rpc.Status of a refusal.
struct ApiFault {
  int status = 0;       // of HTTP
  std::string code;     // "RESOURCE_EXHAUSTED"; "" when it is not told
  std::string reason;   // of its google.rpc.ErrorInfo: "SERVICE_DISABLED"
  std::string message;  // fit for a message
};

struct ApiAnswer {
  nlohmann::json body;  // an object; unknown fields are kept
  std::optional<ApiFault> fault = {};
};

// "https://tpu.googleapis.com", or what CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU says, as gcloud takes
// it. UsageError for a server that no token may be sent to: one that is neither Google's, nor this
// machine, nor trusted (base/host.h), and http to all but this machine.
Url api_server(const std::string& service);

// For one thread at a time.
class GoogleApi {
 public:
  explicit GoogleApi(TokenSource tokens, HttpOptions options = {})
      : tokens_(std::move(tokens)), http_(std::move(options)) {}

  const Who& who() const { return tokens_.who(); }
  const Token& token() { return tokens_.token(http_); }
  // A refusal is a value, but for credentials that are not accepted, which are a UsageError (a
  // token that is not accepted is taken anew once). SystemError for no answer and for one that is
  // no JSON.
  ApiAnswer call(const ApiCall& call);

 private:
  HttpAnswer send(HttpRequest& request);

  TokenSource tokens_;
  HttpClient http_;
};

}  // namespace smelt
