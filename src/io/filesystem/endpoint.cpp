#include "io/filesystem/endpoint.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <regex>

#include "base/error.h"
#include "base/host.h"

namespace smelt::io {
namespace {

// Parses a path's options: "?scheme=http&endpoint_override=h:1" -> {{"scheme", "http"},
// {"endpoint_override", "h:1"}}.
std::map<std::string, std::string> options_of(const RemotePath& path) {
  std::map<std::string, std::string> options;
  if (path.options.empty()) return options;
  for (const std::string_view item : split(std::string_view(path.options).substr(1), '&')) {
    const std::size_t equals = std::min(item.find('='), item.size());
    options.emplace(item.substr(0, equals), item.substr(std::min(equals + 1, item.size())));
  }
  return options;
}

bool matches(const std::string& text, const char* pattern) {
  return std::regex_match(text, std::regex(pattern, std::regex::icase));
}

// Returns whether the host is a server of Google's or Amazon's storage, such as s3.amazonaws.com,
// s3.us-east-1.amazonaws.com or s3-fips.dualstack.us-gov-west-1.amazonaws.com. Names of access
// points and buckets are not accepted. Other names in amazonaws.com belong to customers' machines,
// and customers choose their first part.
bool is_own(const std::string& scheme, const std::string& host) {
  if (scheme != "s3") return is_google_api(host);
  return matches(
      without_port(host),
      R"(s3(-fips|-accelerate)?(\.dualstack)?([.-][a-z]{2}(-[a-z]+)+-[0-9])?\.amazonaws\.com(\.cn)?)");
}

void judge(const RemotePath& path, Endpoint& endpoint) {
  const bool http = endpoint.scheme == "http";
  if (is_loopback(endpoint.host)) return;
  if (http && path.scheme == "gs") {
    endpoint.no_secrets = "secrets are not sent over http";
    endpoint.remedy = "leave out scheme=http if the server supports https";
  } else if (!endpoint.host.empty() && !is_own(path.scheme, endpoint.host) &&
             !is_trusted_endpoint(endpoint.host)) {
    endpoint.no_secrets = str(
        endpoint.host, " in the path is not a trusted server, so no credentials are sent to it");
    endpoint.remedy = str("if the server is trusted, set ", kTrustedEndpoints, "=", endpoint.host);
  }
}

void take_option(const RemotePath& path, const std::string& name, const std::string& value,
                 Endpoint& endpoint) {
  const bool s3 = path.scheme == "s3";
  if (name == "scheme" && (value == "http" || value == "https"))
    endpoint.scheme = value;
  else if (name == "endpoint_override" && is_host(value))
    endpoint.host = value;
  else if (name == "region" && s3 && matches(value, "[a-z0-9-]+"))
    endpoint.region = value;
  else
    throw UsageError(str("path: ", path.scheme, "://", path.bucket, "/", path.key, path.options,
                         ": option ", name, "=", value),
                     str("options are scheme=http or https, ", s3 ? "region=NAME, " : "",
                         "and endpoint_override=HOST:PORT"));
}

}  // namespace

std::string Endpoint::options() const {
  std::string out;
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) out += str(out.empty() ? "?" : "&", name, "=", value);
  };
  put("scheme", scheme);
  put("endpoint_override", host);
  put("region", region);
  return out;
}

Endpoint endpoint_of(const RemotePath& path) {
  Endpoint endpoint;
  std::string emulator;
  if (const char* variable = std::getenv("CLOUD_STORAGE_EMULATOR_ENDPOINT");
      path.scheme == "gs" && variable != nullptr && *variable != '\0') {
    const std::string_view url = variable;
    const std::size_t mark = url.find("://");
    endpoint.scheme = mark == std::string_view::npos ? "http" : url.substr(0, mark);
    endpoint.host = mark == std::string_view::npos ? url : url.substr(mark + 3);
    while (endpoint.host.ends_with('/')) endpoint.host.pop_back();
    emulator = "CLOUD_STORAGE_EMULATOR_ENDPOINT is set";
  }
  for (const auto& [name, value] : options_of(path)) take_option(path, name, value, endpoint);
  if (!emulator.empty())
    endpoint.no_secrets = emulator;
  else
    judge(path, endpoint);
  return endpoint;
}

}  // namespace smelt::io
