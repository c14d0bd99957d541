#include "base/host.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "base/str.h"

namespace smelt {
namespace {

bool matches(const std::string& text, const char* pattern) {
  return std::regex_match(text, std::regex(pattern, std::regex::icase));
}

bool same_host(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

bool is_host(const std::string& text) {
  return matches(text, R"(([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?)");
}

std::string without_port(const std::string& host) {
  return std::regex_replace(host, std::regex(":[0-9]+$"), "");
}

bool is_loopback(const std::string& host) {
  return matches(without_port(host), R"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])");
}

bool is_google_api(const std::string& host) {
  return matches(without_port(host), R"(([a-z0-9-]+\.)+googleapis\.com)");
}

bool is_trusted_endpoint(const std::string& host) {
  const char* variable = std::getenv(kTrustedEndpoints);
  if (variable == nullptr) return false;
  return std::ranges::any_of(split(std::string_view(variable), ','), [&](std::string_view item) {
    return same_host(trim(item), host) || same_host(trim(item), without_port(host));
  });
}

}  // namespace smelt
