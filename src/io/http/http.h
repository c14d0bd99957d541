// HTTP requests by libcurl: verified TLS, timeouts, redirects within a server, retries. Messages
// name the server and path of a request, never its query, headers or body.
#pragma once

#include <chrono>
#include <cstddef>
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

namespace smelt {

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers = {};
  Secret bearer = {};  // goes as "Authorization: Bearer …"
  std::string body = {};
  // Not given: every method but POST and PATCH may be repeated (RFC 9110, 9.2.2).
  std::optional<Repeat> repeat = {};
};

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string, std::less<>> headers = {};  // names in lower case
  std::string body = {};

  // Returns the value of a header, or "". `name` must be in lower case.
  const std::string& header(std::string_view name) const;
  // By the server's clock; nothing where it says none.
  std::optional<std::chrono::system_clock::time_point> date() const;
};

struct HttpOptions {
  std::chrono::milliseconds to_connect{10'000};
  std::chrono::milliseconds to_answer{60'000};  // of one try, with its connection
  std::size_t most_bytes = std::size_t{64} << 20;
  int redirects = 5;
  RetryRules retry = {};
  std::chrono::milliseconds tell_after{5000};  // of waiting between tries: a warning is logged
  std::stop_token stop = {};                   // a signal (base/stop_signal.h) stops as well
  // Instead of sleeping, for tests.
  std::function<void(std::chrono::milliseconds)> wait = {};
};

// Keeps connections open between requests. For one thread at a time.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options = {});
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;

  // Sends the request and returns the last response, whatever its status. Temporary errors
  // (is_passing) and broken connections are retried if the request may be repeated or did not leave
  // this machine. Retry-After is respected; one that is longer than the time left ends the retries.
  // Throws SystemError without a response, for one that is too large, and for a redirect to another
  // server; throws Stopped after a stop request.
  HttpAnswer send(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smelt
