// The protocol between the pod's shim and its server, over a Unix socket. A frame is its size as
// u32, then its bytes. A request begins with its Op, a reply with an error code, which is 0 on
// success. All numbers have this machine's byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pjrt/pjrt_abi.h"

namespace smelt::stand_in {

enum class Op : std::uint8_t {
  hello,    // process, processes: the process's main connection; replies once all have joined
  bye,      // the client ends normally
  attach,   // process, generation: another connection of a process
  compile,  // module, options: replies with ProgramFacts
  load,     // bytes of serialize: replies with ProgramFacts
  serialize,
  optimized,
  cost,
  memory,
  drop_program,
  put,      // value, device id, type, dims, bytes
  execute,  // program, launch id, done, lists
  copy,     // copy, value: starts to copy the value to the server's memory
  fetch,    // copy: waits for the copy and replies with its bytes
  drop_copy,
  await,  // value or done: waits until it is ready
  ready,
  drop_value  // values; no reply, as for the other drops
};

constexpr bool is_answered(Op op) {
  return op != Op::drop_program && op != Op::drop_copy && op != Op::drop_value;
}

// The error of a call.
struct Fault {
  pjrt_abi::ErrorCode code = pjrt_abi::ErrorCode::ok;
  std::string text;
};

class Packer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Packer& add(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Packer& text(std::string_view value) {
    add(std::uint64_t{value.size()});
    bytes_.append(value);
    return *this;
  }
  template <class T>
  Packer& list(const std::vector<T>& values) {
    return text({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, piece(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return piece(take<std::uint64_t>()); }
  template <class T>
  std::vector<T> list() {
    const std::string_view bytes = text();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::string_view piece(std::uint64_t size) {
    if (size > bytes_.size()) throw std::runtime_error("stand-in: a frame is cut short");
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }
  std::string_view bytes_;
};

// Return false or nullopt if the other side has closed the connection.
bool send_frame(int socket, std::string_view bytes);
std::optional<std::string> receive_frame(int socket);

// The properties of a program, as one process sees them.
struct ProgramFacts {
  std::uint64_t number = 0;
  std::vector<std::int32_t> own_ids = {};       // ids of the program's devices in this process
  std::vector<std::int32_t> result_types = {};  // pjrt_abi::ElementType
  std::vector<std::vector<std::int64_t>> result_dims = {};
  std::vector<std::int32_t> donated = {};  // indices of the donated arguments

  void pack(Packer& out) const;
  static ProgramFacts unpack(Unpacker& in);
};

}  // namespace smelt::stand_in
