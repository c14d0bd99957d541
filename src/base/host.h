// Host names in URLs, and which hosts may receive credentials.
#pragma once

#include <string>

namespace smelt {

// Returns whether the text is "HOST" or "HOST:PORT", without a user name or a path.
bool is_host(const std::string& text);

std::string without_port(const std::string& host);

// Returns whether the host is this machine: localhost, 127.*.*.* or [::1], with or without a port.
// Only such forms count, because they need no DNS lookup.
bool is_loopback(const std::string& host);

// Returns whether the host is a subdomain of googleapis.com, with or without a port.
bool is_google_api(const std::string& host);

// The environment variable with the hosts that the user trusts with credentials, separated by
// commas.
inline constexpr const char* kTrustedEndpoints = "SMELT_TRUSTED_ENDPOINTS";
// Returns whether SMELT_TRUSTED_ENDPOINTS contains the host. An entry without a port matches every
// port.
bool is_trusted_endpoint(const std::string& host);

}  // namespace smelt
