#include "io/filesystem/metadata_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "io/filesystem/descriptor.h"

namespace smelt::io {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kToConnect(1000), kBetween(200);
constexpr int kTriesToConnect = 3;
// The IP address of the metadata server on every Google machine. Resolving its host name can be
// slow.
constexpr const char* kAddress = "169.254.169.254";

bool wait_for(const Descriptor& socket, short event, Clock::time_point deadline) {
  ::pollfd poll{socket.get(), event, 0};
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    const int ready = ::poll(&poll, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    return ready == 1 && (poll.revents & event) != 0;
  }
}

struct Reached {
  Descriptor socket;  // open, unless there was an error
  int error = 0;      // errno; ETIMEDOUT if nothing accepts the connection in time
};

Reached connect_to(const std::string& host, const std::string& port) {
  const auto failed = [](int error) { return Reached{Descriptor(), error}; };
  ::addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return failed(EHOSTUNREACH);
  const std::unique_ptr<::addrinfo, void (*)(::addrinfo*)> addresses(found, &::freeaddrinfo);
  Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return failed(errno);
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS &&
      errno != EINTR)
    return failed(errno);
  int error = wait_for(socket, POLLOUT, Clock::now() + kToConnect) ? 0 : ETIMEDOUT;
  int said = 0;
  ::socklen_t size = sizeof said;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &said, &size) == 0 && said != 0)
    error = said;
  if (error != 0) return failed(error);
  return {std::move(socket), 0};
}

bool is_nobody(int error) {
  return error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH;
}

// Returns the whole response to one GET request, or "" at the deadline.
std::string ask(const Descriptor& socket, std::string_view request, Clock::time_point deadline) {
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<::ssize_t>(request.size()))
    return {};
  std::string answer;
  char buffer[1024];
  while (answer.size() < 65536) {
    if (!wait_for(socket, POLLIN, deadline)) return {};
    const ::ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (count < 0) return {};
    if (count == 0) break;
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  return answer;
}

// Returns the status of "HTTP/1.0 200 OK…"; 0 for other text.
int status_of(std::string_view answer) {
  int status = 0;
  if (!answer.starts_with("HTTP/1.") || answer.size() < 12) return 0;
  std::from_chars(answer.data() + 9, answer.data() + 12, status);
  return status;
}

}  // namespace

std::optional<std::string> metadata_server_value(const std::string& path, milliseconds patience) {
  const char* root = std::getenv("GCE_METADATA_ROOT");  // also read by Google's own client
  std::string host = root != nullptr && *root != '\0' ? root : kAddress;
  std::string port = "80";
  if (const std::size_t colon = host.find(':'); colon != std::string::npos) {
    port = host.substr(colon + 1);
    host.resize(colon);
  }
  const std::string request =
      str("GET /computeMetadata/v1/", path,
          " HTTP/1.0\r\nHost: metadata.google.internal\r\nMetadata-Flavor: Google\r\n\r\n");
  const Clock::time_point deadline = Clock::now() + patience;
  bool reached = false;
  for (int tries = 1;; ++tries, std::this_thread::sleep_for(kBetween)) {
    const auto [socket, error] = connect_to(host, port);
    reached = reached || error == 0;
    if (!reached && (is_nobody(error) || tries == kTriesToConnect)) return std::nullopt;
    const std::string answer = error == 0 ? ask(socket, request, deadline) : "";
    const int status = status_of(answer);
    if (status != 0 && status != 429 && status < 500) {
      const std::size_t body = answer.find("\r\n\r\n");
      if (status != 200 || body == std::string::npos) return std::nullopt;
      return std::string(trim(std::string_view(answer).substr(body)));
    }
    if (reached && Clock::now() >= deadline)
      throw SystemError(str("credentials: the metadata server at ", host, ":", port,
                            " did not return this machine's identity",
                            status == 0 ? "" : str(" (HTTP status ", status, ")")),
                        "run the command again, or use gs://anonymous@bucket/… for public data");
  }
}

std::optional<std::string> metadata_server_account(milliseconds patience) {
  auto email = metadata_server_value("instance/service-accounts/default/email", patience);
  if (email && email->find('@') == std::string::npos) return std::nullopt;
  return email;
}

}  // namespace smelt::io
