#include "cloud/google_api.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/host.h"
#include "base/parallel.h"
#include "io/credentials/json_text.h"
#include "io/credentials/redact.h"

namespace smelt::cloud {
namespace {

ApiFault fault_in(const io::HttpAnswer& answer, const Json& body, const io::Token& token) {
  ApiFault fault;
  fault.status = answer.status;
  const Json error = body.is_object() && body.contains("error") ? body.at("error") : Json();
  fault.code = io::text_in(error, "status");
  const std::string said = io::text_in(error, "message");
  fault.message =
      said.empty() ? str("HTTP status ", answer.status) : io::fit_for_message(said, {token.text});
  if (error.is_object() && error.contains("details") && error.at("details").is_array())
    for (const Json& detail : error.at("details"))
      if (io::text_in(detail, "@type").ends_with("google.rpc.ErrorInfo"))
        fault.reason = io::text_in(detail, "reason");
  return fault;
}

// Returns the body as text. Throws UsageError if a string is not valid UTF-8.
std::string text_of(const Json& body, const io::Url& url) try {
  return body.dump();
} catch (const JsonError&) {
  throw UsageError(str(url.shown(), ": the request has text that is not valid UTF-8"),
                   "check the names and values that you gave, and write them in UTF-8");
}

}  // namespace

io::Url api_server(const std::string& service) {
  std::string variable = "CLOUDSDK_API_ENDPOINT_OVERRIDES_" + service;
  std::ranges::transform(variable, variable.begin(),
                         [](unsigned char c) { return std::toupper(c); });
  std::string given = io::environment(variable.c_str());
  if (given.empty() && service == "storage") {
    variable = kStorageEmulator;
    given = io::environment(kStorageEmulator);
  }
  if (given.empty()) return io::parse_url(str("https://", service, ".googleapis.com"), service);
  io::Url url = io::parse_url(given, variable);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (is_loopback(url.host)) return url;
  if (url.scheme != "https")
    throw UsageError(str(variable, ": http to ", url.host, " would send secrets unencrypted"),
                     str("unset ", variable));
  if (!is_google_api(url.host) && !is_trusted_endpoint(url.host))
    throw UsageError(
        str(variable, ": ", url.host, " is neither a Google server nor a trusted server"),
        str("to trust it, set ", kTrustedEndpoints, "=", url.host));
  return url;
}

io::HttpAnswer GoogleApi::send(io::HttpRequest& request) {
  request.bearer = token().text;
  io::HttpAnswer answer = http_.send(request);
  if (answer.status != 401) return answer;
  tokens_.drop(request.bearer);
  request.bearer = token().text;
  return http_.send(request);
}

ApiAnswer GoogleApi::call(const ApiCall& call) {
  io::Url url = api_server(call.service);
  url.path += call.path;
  url.query = io::form_of(call.query);
  io::HttpRequest request{.method = call.method, .url = url.text(), .repeat = call.repeat};
  if (!call.body.is_null()) {
    request.body = text_of(call.body, url);
    request.headers.emplace_back("Content-Type", "application/json");
  }
  if (!who().quota_project.empty())
    request.headers.emplace_back("X-Goog-User-Project", who().quota_project);
  const io::HttpAnswer answer = send(request);
  const Json body = answer.body.empty() ? Json::object() : Json::parse_or_discard(answer.body);
  const bool good = answer.status >= 200 && answer.status < 300;
  if (good && body.is_object()) return {body};
  if (good) throw SystemError(str(url.shown(), ": the response is not a JSON object"));
  ApiFault fault = fault_in(answer, body, token());
  fault.lacks_quota_project = who().lacks_quota_project();
  if (answer.status == 401)
    throw io::CredentialsRefused(
        str("credentials: ", who().source, ": not accepted by ", url.host, ": ", fault.message),
        io::kSignInAgain);
  return {Json::object(), fault};
}

namespace {

// A pool of clients that no thread uses at the moment.
class Spare {
 public:
  explicit Spare(const GoogleApi& like) : like_(like) {}
  std::unique_ptr<GoogleApi> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::make_unique<GoogleApi>(like_.beside());
    auto one = std::move(spare_.back());
    spare_.pop_back();
    return one;
  }
  void give(std::unique_ptr<GoogleApi> one) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(one));
  }

 private:
  const GoogleApi& like_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<GoogleApi>> spare_;
};

}  // namespace

void call_side_by_side(const GoogleApi& api, std::size_t count,
                       const std::function<void(GoogleApi&, std::size_t)>& body, int at_once) {
  Spare spare(api);
  run_each(count, at_once, [&](std::size_t number) {
    auto own = spare.take();
    body(*own, number);
    spare.give(std::move(own));
  });
}

}  // namespace smelt::cloud
