// URLs (RFC 3986) as requests need them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

struct Url {
  std::string scheme;  // http or https
  std::string host;    // with its port, if there is one; without a user
  std::string path;    // begins with '/'
  std::string query;   // without '?'

  std::string text() const;
  // Returns the URL without its query, which may contain secrets, for messages.
  std::string shown() const;
  bool same_server(const Url& other) const { return scheme == other.scheme && host == other.host; }
};

// Parses an absolute http:// or https:// URL. Throws UsageError "<what>: …" for other text and for
// a URL with a user or password; the message does not contain the URL.
Url parse_url(const std::string& text, std::string_view what);

// Returns the URL of a redirect's Location header. Throws SystemError if it is invalid.
Url resolve_url(const Url& base, const std::string& location);

// All but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

// application/x-www-form-urlencoded: a query, or the body of a token request.
std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace smelt
