// HTTP client based on libcurl: verified TLS, timeouts, redirects within a server, retries.
// Messages show the server and path of a request, never its query, headers or body.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/http/retry.h"
#include "io/http/secret.h"

namespace smelt::io {

struct HttpAnswer;

// A part of a file that is sent as the body of a request.
struct HttpFilePart {
  std::string path;
  std::uint64_t offset = 0, size = 0;  // in bytes
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
  Secret bearer = {};  // sent as "Authorization: Bearer …"
  std::string body = {};
  // By default all methods except POST and PATCH may be repeated (RFC 9110, 9.2.2).
  std::optional<Repeat> repeat = {};
  // Whether to retry after status 429 for any method, because the server did not perform the
  // request. Do not set it for servers such as Google's, which also return 429 for a used-up quota.
  bool repeats_refused = false;
  // Sent instead of `body`. The file must not change while it is sent.
  std::optional<HttpFilePart> upload = {};
  // Receives the body of a response with a status of 200 to 299, piece by piece, instead of
  // HttpAnswer::body. An exception ends the request and is rethrown by send(). The request is not
  // retried after the first piece.
  std::function<void(const HttpAnswer& head, std::string_view piece)> receive = {};
  // If false, send() returns the response with the redirect instead of following it.
  bool follows_redirects = true;
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers = {};  // names in lower case
  std::string body = {};

  // Returns the value of a header, or "" if it is missing. `name` must be in lower case.
  const std::string& header(std::string_view name) const;
  // Returns the time of the Date header, or nullopt if it is missing.
  std::optional<std::chrono::system_clock::time_point> date() const;
};

struct HttpOptions {
  std::chrono::milliseconds to_connect{10'000};
  // Timeout of one attempt, including the connection. For requests with `receive` or `upload` it
  // limits only the time without any progress.
  std::chrono::milliseconds to_answer{60'000};
  std::size_t most_bytes = std::size_t{64} << 20;
  int redirects = 5;
  RetryRules retry = {};
  std::chrono::milliseconds tell_after{5000};  // a longer wait between attempts logs a warning
  std::stop_token stop = {};                   // a StopSignal also stops the request
  // Replaces sleeping, for tests.
  std::function<void(std::chrono::milliseconds)> wait = {};
};

// An HTTP client that keeps connections open between requests. Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Sends a request and returns the last response, whatever its status. Retries transient statuses
  // (is_passing) and broken connections if the request may be repeated or was not performed.
  // Honours Retry-After and, for 429, a RateLimit header whose quota is used up; stops if they
  // exceed the remaining time. Throws SystemError if there is no response, if it is too large, or
  // for a redirect to another server; throws Stopped after a stop signal.
  HttpAnswer send(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smelt::io
