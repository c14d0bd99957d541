// URLs (RFC 3986) of requests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt::io {

struct Url {
  std::string scheme;  // http or https
  std::string host;    // with the port, if given; never a user
  std::string path;    // begins with '/'
  std::string query;   // without '?'

  std::string text() const;
  // Returns the URL for messages, without the query, which may contain secrets.
  std::string shown() const;
  bool same_server(const Url& other) const { return scheme == other.scheme && host == other.host; }
};

// Parses a URL. Throws UsageError "<what>: …" if it is not an absolute http:// or https:// URL or
// contains a user or password. The message does not show the URL, which may contain secrets.
Url parse_url(const std::string& text, std::string_view what);

// Resolves a Location header relative to `base`. Throws SystemError if it is invalid.
Url resolve_url(const Url& base, const std::string& location);

// Percent-encodes all characters except letters, digits and "-._~".
std::string percent_encoded(std::string_view text);

// Encodes fields as application/x-www-form-urlencoded, for a query or the body of a token request.
std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace smelt::io
