#include "distributed/stand_in/frames.h"

#include <sys/socket.h>

#include <cerrno>

namespace smelt::stand_in {
namespace {

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t received = ::recv(socket, bytes, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    bytes += received;
    size -= static_cast<std::size_t>(received);
  }
  return true;
}

}  // namespace

bool send_frame(int socket, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return send_all(socket, reinterpret_cast<const char*>(&size), sizeof size) &&
         send_all(socket, bytes.data(), bytes.size());
}

std::optional<std::string> receive_frame(int socket) {
  std::uint32_t size = 0;
  if (!receive_all(socket, reinterpret_cast<char*>(&size), sizeof size)) return std::nullopt;
  std::string bytes(size, '\0');
  if (!receive_all(socket, bytes.data(), size)) return std::nullopt;
  return bytes;
}

void ProgramFacts::pack(Packer& out) const {
  out.add(number).list(own_ids).list(result_types);
  for (const auto& dims : result_dims) out.list(dims);
  out.list(donated);
}

ProgramFacts ProgramFacts::unpack(Unpacker& in) {
  ProgramFacts facts;
  facts.number = in.take<std::uint64_t>();
  facts.own_ids = in.list<std::int32_t>();
  facts.result_types = in.list<std::int32_t>();
  for (std::size_t i = 0; i < facts.result_types.size(); ++i)
    facts.result_dims.push_back(in.list<std::int64_t>());
  facts.donated = in.list<std::int32_t>();
  return facts;
}

}  // namespace smelt::stand_in
