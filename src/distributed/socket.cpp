#include "distributed/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/host.h"

namespace smelt::distributed {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolved(const HostPort& address, int flags, std::string& why) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                  std::to_string(address.port).c_str(), &wanted, &found);
  if (error != 0) why = str("its name is not found: ", ::gai_strerror(error));
  return {error == 0 ? found : nullptr, &::freeaddrinfo};
}

bool is_loopback_address(const addrinfo& info) {
  if (info.ai_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in*>(info.ai_addr)->sin_addr.s_addr) >> 24) ==
           127;
  return info.ai_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr);
}

bool is_literal(const std::string& host) {
  in6_addr ignored;
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

[[noreturn]] void cannot_listen(const HostPort& address, int error) {
  const std::string what =
      str("pod: host 0 cannot listen at ", text_of(address), ": ", std::strerror(error));
  if (error == EADDRINUSE)
    throw UsageError(what, "stop the process that uses the port, or choose another in --hub");
  if (error == EADDRNOTAVAIL) throw UsageError(what, "name the machine of rank 0 in --hub");
  throw SystemError(what);
}

int listen_on(const HostPort& address, const addrinfo& info) {
  const int socket = ::socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) cannot_listen(address, errno);
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket, info.ai_addr, info.ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0)
    return socket;
  const int error = errno;
  ::close(socket);
  cannot_listen(address, error);
}

// Connects a non-blocking socket. Returns 0, or the errno.
int connected(int socket, const addrinfo& info) {
  if (::connect(socket, info.ai_addr, info.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waits{socket, POLLOUT, 0};
  constexpr int kMs = 5000;
  if (::poll(&waits, 1, kMs) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

HostPort parse_host_port(const std::string& where, const std::string& text) {
  const auto wrong = [&] {
    return UsageError(str(where, ": '", text, "' is not HOST:PORT"),
                      str("name the machine of rank 0, as in 10.0.0.2:", kPodPort));
  };
  const bool is_ipv6 = text.starts_with("[");
  const std::size_t end = is_ipv6 ? text.find(']') : text.find(':');
  if (is_ipv6 && end == std::string::npos) throw wrong();
  HostPort out{is_ipv6 ? text.substr(1, end - 1) : text.substr(0, end), kPodPort};
  const std::size_t colon = is_ipv6 ? end + 1 : end;
  if (out.host.empty() || out.host.find_first_of("/@ ") != std::string::npos) throw wrong();
  if (colon >= text.size()) return out;
  const char* last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, last, out.port);
  if (text[colon] != ':' || error != std::errc() || stop != last || out.port < 0 ||
      out.port > 65535)
    throw wrong();
  return out;
}

std::string text_of(const HostPort& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return str(is_ipv6 ? "[" : "", address.host, is_ipv6 ? "]" : "", ":", address.port);
}

int listen_at(const HostPort& address) {
  std::string why;
  Addresses found = resolved(address, 0, why);
  if (!found)
    throw UsageError(str("pod: host 0 cannot listen at ", text_of(address), ": ", why),
                     "name the machine of rank 0 in --hub");
  if (is_loopback_address(*found) && !is_literal(address.host) && !is_loopback(address.host)) {
    Addresses any = resolved({"", address.port}, AI_PASSIVE, why);
    if (any) found = std::move(any);
  }
  return listen_on(address, *found);
}

int port_of(int listener) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

int try_connect(const HostPort& address, std::string& why) {
  const Addresses found = resolved(address, 0, why);
  for (const addrinfo* info = found.get(); info != nullptr; info = info->ai_next) {
    const int socket = ::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket < 0) continue;
    const int error = connected(socket, *info);
    if (error == 0) return socket;
    why = std::strerror(error);
    ::close(socket);
  }
  return -1;
}

void set_up_socket(int socket, int silence_ms) {
  const int yes = 1;
  const unsigned int timeout = static_cast<unsigned int>(silence_ms);
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof timeout);
}

}  // namespace smelt::distributed
