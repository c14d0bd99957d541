#include "distributed/stand_in/connection.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace smelt::stand_in {
namespace {

std::string said(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr)
    throw Fault{pjrt_abi::ErrorCode::unknown, std::string(variable) + " is not set"};
  return value;
}

std::int32_t process() { return std::atoi(said("POD_PROCESS").c_str()); }

int connected() {
  const std::string path = said("POD_SOCKET");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket, reinterpret_cast<const ::sockaddr*>(&address), sizeof address) == 0)
    return socket;
  const std::string why = std::strerror(errno);
  ::close(socket);
  throw Fault{pjrt_abi::ErrorCode::unavailable, path + ": " + why};
}

std::string asked(int socket, Op op, std::string_view payload) {
  std::string request(1, static_cast<char>(op));
  request += payload;
  std::optional<std::string> answer;
  if (send_frame(socket, request)) answer = receive_frame(socket);
  if (!answer) throw Fault{pjrt_abi::ErrorCode::unavailable, "the pod's server is gone"};
  Unpacker in(*answer);
  const auto code = in.take<pjrt_abi::ErrorCode>();
  std::string text(in.text());
  if (code != pjrt_abi::ErrorCode::ok) throw Fault{code, text};
  return text;
}

// The connection of one thread, for the session that the thread used last.
struct ThreadConnection {
  ~ThreadConnection() { close(); }
  void close() {
    if (socket >= 0) ::close(socket);
    socket = -1;
  }
  int socket = -1;
  std::uint64_t generation = 0;
};

}  // namespace

Session::Session() : life_(connected()) {
  try {
    const std::string answer = asked(
        life_, Op::hello,
        Packer().add(process()).add(std::int32_t{std::atoi(said("POD_SIZE").c_str())}).take());
    Unpacker in(answer);
    generation_ = in.take<std::uint64_t>();
    welcome_ = answer.substr(sizeof generation_);
  } catch (...) {
    ::close(life_);
    throw;
  }
}

Session::~Session() {
  try {
    asked(life_, Op::bye, {});
  } catch (const Fault&) {  // the server is already gone
  }
  ::close(life_);
}

int Session::connection() const {
  thread_local ThreadConnection own;
  if (own.socket >= 0 && own.generation == generation_) return own.socket;
  own.close();
  own.socket = connected();
  own.generation = generation_;
  asked(own.socket, Op::attach, Packer().add(process()).add(generation_).take());
  return own.socket;
}

std::string Session::call(Op op, std::string_view payload) const {
  return asked(connection(), op, payload);
}

void Session::tell(Op op, std::string_view payload) const noexcept {
  try {
    std::string request(1, static_cast<char>(op));
    request += payload;
    send_frame(connection(), request);
  } catch (const Fault&) {  // without the server there is nothing to drop
  }
}

std::uint64_t Session::next_number() {
  constexpr int kProcessBits = 48;
  static std::atomic<std::uint64_t> next = 1;
  return (static_cast<std::uint64_t>(process()) << kProcessBits) | next++;
}

}  // namespace smelt::stand_in
