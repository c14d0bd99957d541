#include "io/hub/hub_client.h"

#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "base/stop_signal.h"
#include "io/credentials/json_text.h"
#include "io/credentials/redact.h"

namespace smelt::io {
namespace {

std::function<void(std::chrono::milliseconds)>& replaced_wait() {
  static std::function<void(std::chrono::milliseconds)> wait;
  return wait;
}

HttpOptions options_for(HubPatience patience,
                        const std::function<void(std::chrono::milliseconds)>& wait) {
  HttpOptions options;
  options.retry.first = std::chrono::milliseconds(1000);
  options.retry.most = std::chrono::milliseconds(8000);
  options.retry.tries = patience == HubPatience::patient ? 6 : 1;
  options.retry.tries_to_connect = patience == HubPatience::patient ? 3 : 1;
  if (patience == HubPatience::brief) options.to_answer = std::chrono::milliseconds(10'000);
  options.wait = wait;
  return options;
}

// Returns the texts of `error` and `errors[].message` in a JSON body, joined.
std::string error_text(const std::string& body) {
  const Json json = Json::parse_or_discard(body);
  if (!json.is_object()) return {};
  std::vector<std::string> texts;
  const auto add = [&](const Json& value) {
    if (value.is_string()) texts.push_back(value.get<std::string>());
  };
  if (const auto error = json.find("error"); error != json.end()) {
    add(*error);
    if (error->is_array())
      for (const Json& text : error->elements()) add(text);
  }
  if (const auto errors = json.find("errors"); errors != json.end() && errors->is_array())
    for (const Json& error : errors->elements())
      if (error.is_object() && error.contains("message")) add(error.at("message"));
  return join(texts, "; ");
}

std::string with_message(const HubRefusal& refusal) {
  return refusal.message.empty() ? str(": HTTP status ", refusal.status)
                                 : str(": ", refusal.message);
}

}  // namespace

HubClient::HubClient(HubSettings settings, HubPatience patience, TokenUse token_use,
                     std::function<void(std::chrono::milliseconds)> wait)
    : settings_(std::move(settings)),
      wait_(wait ? std::move(wait) : replaced_wait()),
      http_(options_for(patience, wait_)) {
  if (token_use == TokenUse::implicit && settings_.token_only_if_asked) settings_.token = Secret();
}

std::string HubClient::url(std::string_view path) const {
  return str(settings_.endpoint_text(), "/", path);
}

std::string HubClient::api_url(const HubRepo& repo, std::string_view rest) const {
  return url(str("api/", plural_name(repo.kind), "/", repo.id, rest));
}

HttpAnswer HubClient::send(HttpRequest request) {
  const Url target = parse_url(request.url, "hub");
  if (settings_.offline)
    throw UsageError(str("hub: ", target.shown(), ": ", offline_variable(), " forbids requests"),
                     str("unset ", offline_variable()));
  if (target.same_server(settings_.endpoint)) request.bearer = settings_.token;
  return http_.send(request);
}

HttpAnswer HubClient::send_elsewhere(HttpRequest request) {
  request.bearer = Secret();
  return http_.send(request);
}

Json HubClient::get_json(const std::string& url, const HubPath& path) {
  const HttpAnswer answer = send({.url = url});
  if (answer.status != 200) throw_refusal(answer, path);
  Json json = Json::parse_or_discard(answer.body);
  if (json.is_discarded())
    throw SystemError(str("hub: ", parse_url(url, "hub").shown(), ": the response is not JSON"),
                      "check HF_ENDPOINT and the network's proxy");
  return json;
}

std::string HubClient::commit_of(const HubPath& path) {
  const std::string revision = percent_encoded(path.revision_or_main());
  const std::string sha =
      text_in(get_json(api_url(path.repo, str("/revision/", revision)), path), "sha");
  if (!is_commit(sha))
    throw SystemError(str("hub: ", path.text(), ": the Hub returned no commit"),
                      "check HF_ENDPOINT");
  return sha;
}

void HubClient::pause(std::chrono::milliseconds time) const {
  if (wait_) return wait_(time);
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
    if (StopSignal::raised()) throw Stopped("hub: stopped while waiting for the next attempt");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

HubRefusal HubClient::refusal_of(const HttpAnswer& answer) const {
  std::string message = answer.header("x-error-message");
  if (message.empty()) message = error_text(answer.body);
  return {answer.status, answer.header("x-error-code"),
          fit_for_message(message, {settings_.token})};
}

void HubClient::throw_no_repository(const HubPath& path, const HubRefusal& refusal) {
  if (has_token() && refusal.message.find("Invalid credentials") != std::string::npos)
    throw UsageError(
        str("hub: ", path.text(), ": the Hub rejects the access token from ",
            settings_.token_source),
        "create a token in the settings of your account, and run `hf auth login`, or set HF_TOKEN");
  HubPath other = path;
  other.repo.kind = path.repo.kind == RepoKind::dataset ? RepoKind::model : RepoKind::dataset;
  const bool is_other = send({.url = api_url(other.repo, "")}).status == 200;
  throw UsageError(
      str("hub: ", path.text(), ": the Hub has no such repository, or it is private",
          has_token() ? str(" and the token from ", settings_.token_source, " may not read it")
                      : ""),
      is_other ? str("did you mean ", HubPath{other.repo, "", ""}.text(), "?")
               : str("check the name",
                     path.repo.kind == RepoKind::model ? " or the path of a local folder" : "",
                     has_token() ? ", or ask its owner for access"
                                 : "; for a private repository run `hf auth login` or set "
                                   "HF_TOKEN"));
}

void HubClient::throw_no_revision(const HubPath& path) {
  std::vector<std::string> known;
  const HttpAnswer refs = send({.url = api_url(path.repo, "/refs")});
  const Json json = refs.status == 200 ? Json::parse_or_discard(refs.body) : Json();
  for (const char* kind : {"branches", "tags"})
    if (json.is_object() && json.contains(kind) && json.at(kind).is_array())
      for (const Json& ref : json.at(kind).elements()) known.push_back(text_in(ref, "name"));
  throw UsageError(str("hub: ", HubPath{path.repo, "", ""}.text(), " has no revision '",
                       path.revision_or_main(), "'"),
                   known.empty() ? "name a branch, a tag or a commit"
                                 : did_you_mean(path.revision_or_main(), known));
}

void HubClient::throw_denied(const HubPath& path, const HubRefusal& refusal) {
  if (refusal.code == "GatedRepo")
    throw UsageError(str("hub: ", path.text(), ": this repository is gated", with_message(refusal)),
                     str("accept its terms at ", url(path.repo.url_path()),
                         has_token() ? "" : ", then run `hf auth login` or set HF_TOKEN"));
  throw UsageError(str("hub: ", path.text(), ": access denied", with_message(refusal)),
                   has_token()
                       ? str("check the permissions of the token from ", settings_.token_source)
                       : "run `hf auth login`, or set HF_TOKEN");
}

void HubClient::throw_refusal(const HttpAnswer& answer, const HubPath& path) {
  const HubRefusal refusal = refusal_of(answer);
  if (refusal.code == "GatedRepo") throw_denied(path, refusal);
  if (refusal.code == "RevisionNotFound") throw_no_revision(path);
  if (refusal.code == "EntryNotFound" || refusal.code == "RemoteEntryNotFound")
    throw UsageError(str("hub: ", path.text(), ": no such file in the repository"),
                     "check the path");
  if (answer.status == 401 || answer.status == 404) throw_no_repository(path, refusal);
  if (answer.status == 403) throw_denied(path, refusal);
  if (answer.status == 429)
    throw SystemError(
        str("hub: ", path.text(), ": the Hub's rate limit is exceeded", with_message(refusal)),
        has_token() ? "run the command again in five minutes"
                    : "set HF_TOKEN, which has a higher limit, or run the command again in five "
                      "minutes");
  throw SystemError(str("hub: ", path.text(), ": the Hub failed", with_message(refusal)),
                    "run the command again later; https://status.huggingface.co shows outages");
}

void replace_hub_waits(std::function<void(std::chrono::milliseconds)> wait) {
  replaced_wait() = std::move(wait);
}

std::string next_link(const HttpAnswer& answer) {
  for (const std::string_view piece : split(answer.header("link"), ',')) {
    const std::size_t begin = piece.find('<'), end = piece.find('>');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) continue;
    if (piece.find("rel=\"next\"", end) != std::string_view::npos)
      return std::string(piece.substr(begin + 1, end - begin - 1));
  }
  return {};
}

}  // namespace smelt::io
