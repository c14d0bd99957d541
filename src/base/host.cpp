#include "base/host.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "base/str.h"

namespace smelt {
namespace {

bool same_host(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

bool is_host(const std::string& text) {
  static const std::regex form(R"(([a-z0-9.-]+|\[[0-9a-f:]+\])(:[0-9]+)?)", std::regex::icase);
  return std::regex_match(text, form);
}

std::string without_port(const std::string& host) {
  static const std::regex port(":[0-9]+$");
  return std::regex_replace(host, port, "");
}

bool is_loopback(const std::string& host) {
  static const std::regex form(R"(localhost|127(\.[0-9]{1,3}){3}|\[::1\])", std::regex::icase);
  return std::regex_match(without_port(host), form);
}

bool is_google_api(const std::string& host) {
  static const std::regex form(R"(([a-z0-9-]+\.)+googleapis\.com)", std::regex::icase);
  return std::regex_match(without_port(host), form);
}

bool is_trusted_endpoint(const std::string& host) {
  const char* variable = std::getenv(kTrustedEndpoints);
  if (variable == nullptr) return false;
  return std::ranges::any_of(split(std::string_view(variable), ','), [&](std::string_view item) {
    return same_host(trim(item), host) || same_host(trim(item), without_port(host));
  });
}

}  // namespace smelt
