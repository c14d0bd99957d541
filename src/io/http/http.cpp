#include "io/http/http.h"

#include <algorithm>
#include <random>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "io/http/transfer.h"
#include "io/http/url.h"

namespace smelt::io {
namespace {

using std::chrono::milliseconds;

// Returns the method for the request after a redirect, or nullopt if the status is not a redirect.
std::optional<std::string> redirected(const HttpRequest& request, int status) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (status == 307 || status == 308 || (reads && (status == 301 || status == 302)))
    return request.method;
  if (status == 303) return reads ? request.method : "GET";
  return std::nullopt;
}

bool is_repeatable(const HttpRequest& request) {
  const bool by_method = request.method != "POST" && request.method != "PATCH";
  return request.repeat.value_or(by_method ? Repeat::safe : Repeat::unsafe) == Repeat::safe;
}

double random_fraction() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution(0.0, 1.0)(generator);
}

void require_printable(const HttpRequest& request, const Url& url) {
  const auto breaks = [](const std::string& text) {
    return std::ranges::any_of(text, [](unsigned char c) { return c < ' ' || c == 127; });
  };
  bool broken = breaks(request.bearer.reveal()) || breaks(request.method);
  for (const auto& [name, value] : request.headers)
    broken = broken || name.empty() || breaks(name) || breaks(value);
  if (broken)
    throw UsageError(
        str(url.shown(), ": a header of the request contains a control character"),
        "remove line breaks from the credentials and names that are sent to the server");
}

}  // namespace

const std::string& HttpAnswer::header(std::string_view name) const {
  static const std::string none;
  const auto found = headers.find(name);
  return found == headers.end() ? none : found->second;
}

std::optional<std::chrono::system_clock::time_point> HttpAnswer::date() const {
  const std::time_t seconds = ::curl_getdate(header("date").c_str(), nullptr);
  if (seconds < 0) return std::nullopt;
  return std::chrono::system_clock::from_time_t(seconds);
}

struct HttpClient::State {
  bool stopped() const { return options.stop.stop_requested() || StopSignal::raised(); }
  void require_going(const Url& url) const {
    if (stopped()) throw Stopped(str(url.shown(), ": the request was cancelled"));
  }

  void pause(milliseconds time, const Url& url) const {
    if (options.wait) {
      options.wait(time);
      return require_going(url);
    }
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      require_going(url);
      std::this_thread::sleep_for(std::min<Clock::duration>(milliseconds(50), end - Clock::now()));
    }
  }

  Transfer once(HttpRequest request, Url url) {
    for (int hops = 0;; ++hops) {
      Transfer done = transfer(multi.get(), request, url, options,
                               is_repeatable(request) ? Repeat::safe : Repeat::unsafe,
                               [this] { return stopped(); });
      require_going(url);
      const std::string& location = done.answer.header("location");
      const auto method = redirected(request, done.answer.status);
      if (done.code != CURLE_OK || !method || location.empty() || !request.follows_redirects)
        return done;
      const Url next = resolve_url(url, location);
      if (!next.same_server(url))
        throw SystemError(str(url.shown(), ": redirects to another server, ", next.scheme, "://",
                              next.host, ", which smelt does not follow"));
      if (hops == options.redirects)
        throw SystemError(str(url.shown(), ": more than ", counted(options.redirects, "redirect"),
                              ", the last one to ", next.shown()));
      if (*method != request.method) {
        request.body.clear();
        request.upload.reset();
      }
      request.method = *method;
      url = next;
    }
  }

  const HttpOptions options;
  const MultiHandle multi = new_multi();
};

namespace {

// Returns how long to wait before the next attempt, or nullopt if there should be none.
std::optional<milliseconds> next_try(const Transfer& failed, const HttpRequest& request,
                                     const RetryRules& rules, int failures, int unreached,
                                     milliseconds spent) {
  const bool may_pass =
      failed.code == CURLE_OK ? is_passing(failed.answer.status) : is_passing_fault(failed.code);
  if (!may_pass || failures >= rules.tries || unreached >= rules.tries_to_connect)
    return std::nullopt;
  const bool is_refused =
      request.repeats_refused && failed.code == CURLE_OK && failed.answer.status == 429;
  if (failed.reached && !is_refused && !is_repeatable(request)) return std::nullopt;
  if (failed.has_received) return std::nullopt;
  const milliseconds delay =
      std::max<milliseconds>(retry_delay(rules, failures, random_fraction()), failed.retry_after);
  if (spent + delay > rules.whole) return std::nullopt;
  return delay;
}

}  // namespace

HttpClient::HttpClient(HttpOptions options) : state_(new State{.options = std::move(options)}) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

HttpAnswer HttpClient::send(const HttpRequest& request) {
  const Url url = parse_url(request.url, "http");
  require_printable(request, url);
  const auto start = Clock::now();
  milliseconds waited{0};  // total waiting time, also if `wait` returns at once in tests
  for (int failures = 1, unreached = 0;; ++failures) {
    Transfer done = state_->once(request, url);
    unreached = done.reached ? 0 : unreached + 1;
    const milliseconds spent =
        std::max(waited, std::chrono::duration_cast<milliseconds>(Clock::now() - start));
    const auto delay = next_try(done, request, state_->options.retry, failures, unreached, spent);
    if (!delay && done.code == CURLE_OK) return std::move(done.answer);
    if (!delay)
      throw SystemError(
          str(url.shown(), ": ", done.fault, failures > 1 ? str(" (", failures, " attempts)") : ""),
          hint_of_fault(done.code));
    const auto tell_after = state_->options.tell_after;
    if (waited <= tell_after && waited + *delay > tell_after)
      log_warning(
          "{}: {}; retrying for at most {} s", url.shown(),
          done.code == CURLE_OK ? str("HTTP status ", done.answer.status) : done.fault,
          std::chrono::duration_cast<std::chrono::seconds>(state_->options.retry.whole).count());
    state_->pause(*delay, url);
    waited += *delay;
  }
}

}  // namespace smelt::io
