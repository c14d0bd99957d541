// Names of servers as URLs write them, and which of them may be sent secrets.
#pragma once

#include <string>

namespace smelt {

// "HOST" or "HOST:PORT" with nothing that a URL could read in another way: no user before the host,
// no path behind it.
bool is_host(const std::string& text);

std::string without_port(const std::string& host);

// This machine, by a name or an address that no resolver is asked for elsewhere: localhost,
// 127.*.*.* and [::1], with or without a port.
bool is_loopback(const std::string& host);

// A name below googleapis.com, with or without a port.
bool is_google_api(const std::string& host);

// Named in the environment's comma list kTrustedEndpoints, as HOST or HOST:PORT.
inline constexpr const char* kTrustedEndpoints = "SMELT_TRUSTED_ENDPOINTS";
bool is_trusted_endpoint(const std::string& host);

}  // namespace smelt
