// Sockets of the hub: plain TCP, which asks no proxy.
#pragma once

#include <string>

namespace smelt {

struct HostPort {
  std::string host;
  int port = 0;
};
inline constexpr int kPodPort = 8487;

// "HOST", "HOST:PORT", "[IPV6]:PORT"; without a port kPodPort. UsageError, beginning with `where`.
HostPort parse_host_port(const std::string& where, const std::string& text);
std::string text_of(const HostPort& address);

// A socket that listens on the address itself; on all addresses where its name means the loopback
// here, as /etc/hosts has it on many machines, and it is not called so. UsageError: the address is
// not this machine's, or the port is taken; SystemError.
int listen_at(const HostPort& address);
int port_of(int listener);

// One attempt of at most 5 s; -1 and why not.
int try_connect(const HostPort& address, std::string& why);

// Close at exec, no delay, keepalive, and dead after `silence_ms` without an answer of the machine.
void set_up_socket(int socket, int silence_ms);

}  // namespace smelt
