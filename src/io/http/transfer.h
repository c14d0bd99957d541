// One request and its answer by libcurl. The rules for several are in io/http/http.cpp.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/http/http.h"
#include "io/http/url.h"

namespace smelt {

using MultiHandle = std::unique_ptr<CURLM, decltype(&::curl_multi_cleanup)>;
MultiHandle new_multi();

struct Transfer {
  CURLcode code = CURLE_OK;
  std::string fault = {};  // in words, where the code is not CURLE_OK
  bool reached = false;    // a server was connected to: the request may have arrived
  std::chrono::seconds retry_after{0};
  HttpAnswer answer = {};
};

// Follows no redirect, tries once. One that may not be repeated takes a connection of its own:
// libcurl sends a request again that finds an old one closed. It ends with
// CURLE_ABORTED_BY_CALLBACK within a tenth of a second after `stopped` says so.
Transfer transfer(CURLM* multi, const HttpRequest& request, const Url& url,
                  const HttpOptions& options, Repeat repeat, const std::function<bool()>& stopped);

// Whether trying again may help.
bool is_passing_fault(CURLcode code);
std::string_view hint_of_fault(CURLcode code);

}  // namespace smelt
