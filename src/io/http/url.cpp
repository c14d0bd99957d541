#include "io/http/url.h"

#include <curl/curl.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/str.h"

namespace smelt::io {
namespace {

using Handle = std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)>;

Handle new_handle() { return Handle(::curl_url(), &::curl_url_cleanup); }

std::string part(const Handle& handle, CURLUPart which) {
  char* text = nullptr;
  if (::curl_url_get(handle.get(), which, &text, 0) != CURLUE_OK) return {};
  std::string out = text;
  ::curl_free(text);
  return out;
}

// Returns the URL, or nullopt if its scheme is not http or https, it has no host, or it contains a
// user or password.
std::optional<Url> url_of(const Handle& handle) {
  Url url{part(handle, CURLUPART_SCHEME), part(handle, CURLUPART_HOST),
          part(handle, CURLUPART_PATH), part(handle, CURLUPART_QUERY)};
  if (const std::string port = part(handle, CURLUPART_PORT); !port.empty())
    url.host += str(":", port);
  const bool user =
      !part(handle, CURLUPART_USER).empty() || !part(handle, CURLUPART_PASSWORD).empty();
  if ((url.scheme != "http" && url.scheme != "https") || url.host.empty() || user)
    return std::nullopt;
  return url;
}

}  // namespace

std::string Url::text() const {
  return str(scheme, "://", host, path, query.empty() ? "" : "?", query);
}

std::string Url::shown() const { return str(scheme, "://", host, path); }

Url parse_url(const std::string& text, std::string_view what) {
  const Handle handle = new_handle();
  std::optional<Url> url;
  if (::curl_url_set(handle.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) ==
      CURLUE_OK)
    url = url_of(handle);
  if (!url)
    throw UsageError(str(what, ": must be an http or https URL without a user name"),
                     "write it as https://HOST/PATH");
  return *url;
}

Url resolve_url(const Url& base, const std::string& location) {
  const Handle handle = new_handle();
  std::optional<Url> url;
  if (::curl_url_set(handle.get(), CURLUPART_URL, base.text().c_str(), 0) == CURLUE_OK &&
      ::curl_url_set(handle.get(), CURLUPART_URL, location.c_str(), CURLU_NON_SUPPORT_SCHEME) ==
          CURLUE_OK)
    url = url_of(handle);
  if (!url) throw SystemError(str(base.shown(), ": the redirect is not a URL"));
  return *url;
}

std::string percent_encoded(std::string_view text) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string out;
  for (const unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain)
      out += static_cast<char>(c);
    else
      out.append({'%', kDigits[c >> 4], kDigits[c & 15]});
  }
  return out;
}

std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields)
    out += str(out.empty() ? "" : "&", percent_encoded(name), "=", percent_encoded(value));
  return out;
}

}  // namespace smelt::io
