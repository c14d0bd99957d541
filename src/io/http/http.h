// Requests over HTTP by libcurl: verified TLS, time-outs, redirects within a server, retries. What
// a message says of a request is its server and path, never its query, headers or body.
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

  // "" when there is none of this name, which is in lower case.
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

  // The answer, whatever its status, of the last try: a status that may pass (is_passing) and a
  // connection that broke are tried again where the request may be repeated, and where it did not
  // leave this machine. A server's Retry-After is kept to; one that asks for more time than there
  // is ends the tries. SystemError when there is no answer, when it is too large, and for a
  // redirect to another server; Stopped when told to.
  HttpAnswer send(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smelt
