// A single HTTP request with libcurl. Retries and redirects are in io/http/http.cpp.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/http/http.h"
#include "io/http/url.h"

namespace smelt::io {

using MultiHandle = std::unique_ptr<CURLM, decltype(&::curl_multi_cleanup)>;
MultiHandle new_multi();

struct Transfer {
  CURLcode code = CURLE_OK;
  std::string fault = {};     // error message if the code is not CURLE_OK
  bool reached = false;       // the connection succeeded, so the request may have arrived
  bool has_received = false;  // HttpRequest::receive was called
  std::chrono::seconds retry_after{0};
  HttpAnswer answer = {};
};

// Sends a request once and does not follow redirects. A request that may not be repeated uses a new
// connection, because libcurl resends a request if a reused connection is closed. Ends with
// CURLE_ABORTED_BY_CALLBACK within 0.1 s after `stopped` returns true.
Transfer transfer(CURLM* multi, const HttpRequest& request, const Url& url,
                  const HttpOptions& options, Repeat repeat, const std::function<bool()>& stopped);

// Returns the seconds to wait by a RateLimit header such as `"api";r=0;t=55`: one more than the
// largest t of the quotas without remaining requests (r=0); 0 if there is none. Source: IETF draft
// "RateLimit header fields for HTTP", section 4.
std::chrono::seconds rate_limit_wait(std::string_view header);

// Returns whether a retry may succeed.
bool is_passing_fault(CURLcode code);
std::string_view hint_of_fault(CURLcode code);

}  // namespace smelt::io
