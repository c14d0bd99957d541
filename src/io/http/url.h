// URLs (RFC 3986) as requests need them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace smelt {

struct Url {
  std::string scheme;  // http or https
  std::string host;    // with its port where one is given; never a user
  std::string path;    // begins with '/'
  std::string query;   // without '?'

  std::string text() const;
  // What a message may say: the query, which can hold secrets, is left out.
  std::string shown() const;
  bool same_server(const Url& other) const { return scheme == other.scheme && host == other.host; }
};

// UsageError "<what>: …" for what is no absolute http:// or https:// URL, or has a user or a
// password in it; it does not say the URL, which may hold either.
Url parse_url(const std::string& text, std::string_view what);

// Where the Location of an answer leads that came from `base`. SystemError for what is none.
Url resolve_url(const Url& base, const std::string& location);

// All but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

// application/x-www-form-urlencoded: a query, or the body of a token request.
std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace smelt
