#include "distributed/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/str.h"

namespace smelt::distributed {

Connection::Connection(int socket) : socket_(socket) {
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
}

Connection::~Connection() { ::close(socket_); }

short Connection::events() const {
  return static_cast<short>(POLLIN | (has_queued() ? POLLOUT : 0));
}

bool Connection::gone(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  return false;
}

bool Connection::flush() {
  while (has_queued()) {
    const std::string& bytes = *out_.front();
    const ssize_t sent =
        ::send(socket_, bytes.data() + sent_, bytes.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      if (errno == EINTR) continue;
      return gone(std::strerror(errno));
    }
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < bytes.size()) continue;
    out_.pop_front();
    sent_ = 0;
  }
  return true;
}

bool Connection::read(std::vector<Frame>& frames, std::size_t most_payload) {
  std::array<char, 1 << 16> bytes;
  while (true) {
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      in_.append(bytes.data(), static_cast<std::size_t>(got));
      if (!take_frames(frames, most_payload)) return false;
      continue;
    }
    // A process that ends with unread messages resets its connections instead of closing them.
    if (got == 0 || errno == ECONNRESET) return gone("its connection closed");
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    return gone(std::strerror(errno));
  }
}

bool Connection::take_frames(std::vector<Frame>& frames, std::size_t most_payload) {
  std::size_t at = 0;
  while (in_.size() - at >= 4) {
    PayloadReader header(std::string_view(in_).substr(at, kFrameHeader));
    const std::size_t length = header.number(4);
    if (length < kFrameHeader - 4 || length - (kFrameHeader - 4) > most_payload)
      return gone(str("it sent an invalid frame of ", length, " bytes"));
    if (in_.size() - at < 4 + length) break;
    const auto kind = static_cast<FrameKind>(header.number(1));
    const std::uint64_t call = header.number(8);
    frames.push_back({kind, call, in_.substr(at + kFrameHeader, length - (kFrameHeader - 4))});
    at += 4 + length;
  }
  in_.erase(0, at);
  return true;
}

}  // namespace smelt::distributed
