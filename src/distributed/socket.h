// TCP sockets of the coordination server; proxies are not used.
#pragma once

#include <string>

namespace smelt::distributed {

struct HostPort {
  std::string host;
  int port = 0;
};
inline constexpr int kPodPort = 8487;

// Parses "HOST", "HOST:PORT" or "[IPV6]:PORT"; the default port is kPodPort. Throws UsageError
// whose message begins with `where`.
HostPort parse_host_port(const std::string& where, const std::string& text);
std::string text_of(const HostPort& address);

// Returns a socket that listens on the address. Listens on all interfaces if a host name other than
// "localhost" resolves to the loopback address, as /etc/hosts does on many machines. Throws
// UsageError if the address does not belong to this machine or the port is in use, SystemError for
// other failures.
int listen_at(const HostPort& address);
int port_of(int listener);

// Tries once, for at most 5 s, to connect. Returns the socket, or -1 and the reason in `why`.
int try_connect(const HostPort& address, std::string& why);

// Sets close-on-exec, TCP_NODELAY and keepalive; the connection is lost if the other machine does
// not acknowledge data for `silence_ms`.
void set_up_socket(int socket, int silence_ms);

}  // namespace smelt::distributed
