// Requests to the Hugging Face Hub, and error messages for its refusals.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "io/http/http.h"
#include "io/hub/hub_path.h"
#include "io/hub/hub_settings.h"

namespace smelt::io {

// The error that a response describes: the header X-Error-Code ("" if missing), and the text of
// X-Error-Message or of the body's error fields, on one line without secrets.
struct HubRefusal {
  int status = 0;
  std::string code, message;
};

// How long to try: `patient` for work without an alternative; `brief` if the cache can be used
// instead.
enum class HubPatience : std::uint8_t { patient, brief };

// Whether HF_HUB_DISABLE_IMPLICIT_TOKEN applies: not if the user asks for a command that needs the
// token, such as whoami.
enum class TokenUse : std::uint8_t { implicit, asked };

// A client of the Hub. Sends the token to the Hub's own origin only. Not thread-safe.
class HubClient {
 public:
  // `wait` replaces sleeping, for tests.
  explicit HubClient(HubSettings settings, HubPatience patience = HubPatience::patient,
                     TokenUse token_use = TokenUse::implicit,
                     std::function<void(std::chrono::milliseconds)> wait = {});

  const HubSettings& settings() const { return settings_; }
  bool has_token() const { return !settings_.token.empty(); }

  // Returns the URL of a path below the endpoint, such as "api/models/ORG/NAME".
  std::string url(std::string_view path) const;
  // Returns the URL of the API of a repository, "<endpoint>/api/models/ORG/NAME<rest>".
  std::string api_url(const HubRepo& repo, std::string_view rest) const;

  // Sends a request. Adds the token if the URL is on the Hub's origin. Throws SystemError without a
  // response, and UsageError if HF_HUB_OFFLINE is set; returns any response.
  HttpAnswer send(HttpRequest request);
  // Sends a request to a URL that the Hub returned, such as one for an upload. Never sends the
  // token.
  HttpAnswer send_elsewhere(HttpRequest request);
  // Returns the JSON body of a successful response to GET, or throws the error for `path`.
  Json get_json(const std::string& url, const HubPath& path);
  // Returns the commit of the path's revision. Throws UsageError if the repository or the revision
  // does not exist, and SystemError if the response names no commit.
  std::string commit_of(const HubPath& path);

  // Waits. Throws Stopped after a stop signal.
  void pause(std::chrono::milliseconds time) const;

  HubRefusal refusal_of(const HttpAnswer& answer) const;
  // Throws the error for a refused request about `path`: UsageError if the repository, revision or
  // file does not exist or may not be read; SystemError for a rate limit or a failure of the Hub.
  [[noreturn]] void throw_refusal(const HttpAnswer& answer, const HubPath& path);

 private:
  [[noreturn]] void throw_no_repository(const HubPath& path, const HubRefusal& refusal);
  [[noreturn]] void throw_no_revision(const HubPath& path);
  [[noreturn]] void throw_denied(const HubPath& path, const HubRefusal& refusal);

  HubSettings settings_;
  std::function<void(std::chrono::milliseconds)> wait_;
  HttpClient http_;
};

// Sets the wait of clients that are made without a `wait`, for tests; {} restores them.
void replace_hub_waits(std::function<void(std::chrono::milliseconds)> wait);

// Returns the URL in `Link: <URL>; rel="next"`, or "" if the header is missing.
std::string next_link(const HttpAnswer& answer);

}  // namespace smelt::io
