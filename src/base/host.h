// Host names in URLs, and which hosts may receive secrets.
#pragma once

#include <string>

namespace smelt {

// Returns whether the text is "HOST" or "HOST:PORT" and nothing else: no user, no path.
bool is_host(const std::string& text);

std::string without_port(const std::string& host);

// Returns whether the host is this machine without a DNS lookup: localhost, 127.*.*.* or [::1],
// with or without a port.
bool is_loopback(const std::string& host);

// Returns whether the host is below googleapis.com, with or without a port.
bool is_google_api(const std::string& host);

// Returns whether this environment variable lists the host, as HOST or HOST:PORT, separated by
// commas.
inline constexpr const char* kTrustedEndpoints = "SMELT_TRUSTED_ENDPOINTS";
bool is_trusted_endpoint(const std::string& host);

}  // namespace smelt
