#include "io/credentials/token_exchange.h"

#include <time.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/credentials/json_text.h"
#include "io/credentials/redact.h"

namespace smelt::io {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

constexpr seconds kLifetime(3600), kClocksMayDiffer(300);

// Returns the error in a response: RFC 6749's {"error": "invalid_grant", "error_description": …},
// or an API's {"error": {"status": …, "message": …}}.
std::string words_of(const HttpAnswer& answer) {
  const Json body = Json::parse_or_discard(answer.body);
  std::string code = text_in(body, "error"), more = text_in(body, "error_description");
  if (code.empty() && body.is_object() && body.contains("error")) {
    code = text_in(body.at("error"), "status");
    more = text_in(body.at("error"), "message");
  }
  if (code.empty()) return str("HTTP status ", answer.status);
  return more.empty() ? code : str(code, ": ", more);
}

// Returns a note for error messages if this machine's clock differs from the server's, else "".
std::string clock_fault(const HttpAnswer& answer) {
  const auto date = answer.date();
  if (!date) return {};
  const auto ahead = std::chrono::duration_cast<seconds>(system_clock::now() - *date);
  if (std::chrono::abs(ahead) <= kClocksMayDiffer) return {};
  return str("this machine's clock is ", std::abs(ahead.count()), " seconds ",
             ahead.count() > 0 ? "ahead of" : "behind", " the server's");
}

[[noreturn]] void throw_refused(const HttpAnswer& answer, const Url& server,
                                const std::vector<Secret>& secrets, const std::string& where) {
  if (is_passing(answer.status))
    throw SystemError(
        str("credentials: ", where, ": ", server.shown(), " returned HTTP status ", answer.status),
        "run the command again later");
  const std::string clock = clock_fault(answer);
  const std::string what = str("credentials: ", where, ": not accepted by ", server.host, ": ",
                               fit_for_message(words_of(answer), secrets));
  if (!clock.empty()) throw CredentialsRefused(str(what, "; ", clock), "timedatectl set-ntp true");
  throw CredentialsRefused(what, kSignInAgain);
}

// Parses a time such as "2026-11-23T17:40:02Z", with or without a fraction of a second.
system_clock::time_point parse_time(const std::string& text, const std::string& where) {
  ::tm parts{};
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr)
    throw SystemError(str("credentials: ", where, ": the server's response has no expireTime"));
  return system_clock::from_time_t(::timegm(&parts));
}

}  // namespace

Token token_in(const HttpAnswer& answer, const std::string& where) {
  const Json body = Json::parse_or_discard(answer.body);
  Secret text(text_in(body, "access_token"));
  if (text.empty())
    throw SystemError(str("credentials: ", where, ": the server's response has no access_token"));
  seconds lasts = kLifetime;
  if (const auto given = body.find("expires_in"); given != body.end() && given->is_number())
    lasts = seconds(static_cast<std::int64_t>(
        std::clamp(given->get<double>(), 0.0, 12.0 * static_cast<double>(kLifetime.count()))));
  return {std::move(text), system_clock::now() + lasts};
}

Token token_for_form(HttpClient& http, const Url& server, const FormFields& form,
                     const std::vector<Secret>& secrets, const std::string& where,
                     const Secret& basic) {
  HttpRequest request{.method = "POST",
                      .url = server.text(),
                      .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                      .body = form_of(form),
                      .repeat = Repeat::safe};
  if (!basic.empty()) request.headers.emplace_back("Authorization", "Basic " + basic.reveal());
  const HttpAnswer answer = http.send(request);
  if (answer.status != 200) throw_refused(answer, server, secrets, where);
  return token_in(answer, where);
}

Token impersonated_token(HttpClient& http, const Url& url, const Secret& own_token,
                         const Json& delegates, const std::string& where) {
  Json body{{"scope", {kScope}}, {"lifetime", str(kLifetime.count(), "s")}};
  if (delegates.is_array() && !delegates.empty()) body["delegates"] = delegates;
  const HttpAnswer answer = http.send({.method = "POST",
                                       .url = url.text(),
                                       .headers = {{"Content-Type", "application/json"}},
                                       .bearer = own_token,
                                       .body = body.dump(),
                                       .repeat = Repeat::safe});
  if (answer.status == 403)
    throw UsageError(
        str("credentials: ", where, ": impersonating ", impersonated_account(url),
            " is denied: ", fit_for_message(words_of(answer), {own_token})),
        str("gcloud iam service-accounts add-iam-policy-binding ", impersonated_account(url),
            " --member=WHO --role=roles/iam.serviceAccountTokenCreator"));
  if (answer.status != 200) throw_refused(answer, url, {own_token}, where);
  const Json made = Json::parse_or_discard(answer.body);
  Secret text(text_in(made, "accessToken"));
  if (text.empty())
    throw SystemError(str("credentials: ", where, ": the server's response has no accessToken"));
  return {std::move(text), parse_time(text_in(made, "expireTime"), where)};
}

std::string impersonated_account(const Url& url) {
  constexpr std::string_view kBefore = "/serviceAccounts/";
  const std::size_t at = url.path.find(kBefore);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kBefore.size();
  return url.path.substr(begin, url.path.find(':', begin) - begin);
}

}  // namespace smelt::io
