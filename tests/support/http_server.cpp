#include "support/http_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace smelt {
namespace {

bool wait_to_read(int socket, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    ::pollfd poll{socket, POLLIN, 0};
    if (::poll(&poll, 1, 10) == 1) return true;
  }
  return false;
}

// Reads until `has` returns true; returns false if the connection ends before.
template <class Enough>
bool read_until(int socket, std::string& text, const std::stop_token& stop, Enough has) {
  while (!has()) {
    char buffer[4096];
    if (!wait_to_read(socket, stop)) return false;
    const ::ssize_t count = ::recv(socket, buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return true;
}

ServedRequest parse_head(std::string_view head) {
  ServedRequest request;
  bool first = true;
  for (std::string_view line : split(head, '\n')) {
    line = trim(line);
    if (std::exchange(first, false)) {
      const auto words = split(line, ' ');
      request.method = words.at(0);
      request.target = words.at(1);
      request.is_old = words.at(2) == "HTTP/1.0";
    } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
      std::string name(line.substr(0, colon));
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      request.headers[name] = trim(line.substr(colon + 1));
    }
  }
  return request;
}

}  // namespace

HttpServer::HttpServer(Handler handler)
    : handler_(std::move(handler)), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  ::sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::socklen_t size = sizeof address;
  auto* any = reinterpret_cast<::sockaddr*>(&address);
  CHECK(::bind(socket_.get(), any, size) == 0 && ::listen(socket_.get(), 64) == 0 &&
        ::getsockname(socket_.get(), any, &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
}

HttpServer::~HttpServer() {
  thread_.request_stop();
  thread_.join();
  connections_.clear();
}

std::string HttpServer::host() const { return str("127.0.0.1:", port_); }
std::string HttpServer::url(const std::string& target) const {
  return str("http://", host(), "/", target);
}

std::vector<ServedRequest> HttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpServer::serve(const std::stop_token& stop) {
  for (int number = 0; wait_to_read(socket_.get(), stop); ++number)
    connections_.emplace_back(
        [this, number, socket = io::Descriptor(::accept(socket_.get(), nullptr, nullptr))](
            const std::stop_token& stop) {
          std::string rest;
          while (serve_one(socket.get(), number, rest, stop)) {
          }
        });
}

bool HttpServer::serve_one(int socket, int connection, std::string& rest,
                           const std::stop_token& stop) {
  std::size_t end = 0;
  if (!read_until(socket, rest, stop,
                  [&] { return (end = rest.find("\r\n\r\n")) != std::string::npos; }))
    return false;
  ServedRequest request = parse_head(std::string_view(rest).substr(0, end));
  request.connection = connection;
  const auto length = request.headers.find("content-length");
  const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
  rest.erase(0, end + 4);
  if (!read_until(socket, rest, stop, [&] { return rest.size() >= size; })) return false;
  request.body = rest.substr(0, size);
  rest.erase(0, size);
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(request);
  }
  const ServedAnswer answer = [&] {
    const std::lock_guard lock(handling_);
    return handler_(request);
  }();
  for (auto left = answer.late; left.count() > 0 && !stop.stop_requested();
       left -= std::chrono::milliseconds(10))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (answer.hangs_up) return false;
  std::string text = str("HTTP/1.1 ", answer.status, " Word\r\n");
  for (const std::string& header : answer.headers) text += header + "\r\n";
  text += str("Content-Length: ", answer.body.size(), "\r\n\r\n");
  if (request.method != "HEAD") text += answer.body;
  return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
             static_cast<::ssize_t>(text.size()) &&
         !request.is_old;
}

}  // namespace smelt
