// What the pod's shim and its server say to each other over a Unix socket. A frame is its size as
// u32 and its bytes; a request begins with its Op, an answer with an error code, 0 where it went
// well. All numbers as this machine holds them.
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
  hello,    // process, processes: the life of the process; answers Devices when all have come
  bye,      // a client that ends as it should
  attach,   // process, generation: one more connection
  compile,  // module, options: answers a program
  load,     // what serialize gave: likewise
  serialize,
  optimized,
  cost,
  memory,
  drop_program,
  put,      // value, device id, type, dims, bytes
  execute,  // program, launch id, done, lists
  copy,     // copy, value: begins to copy it to the server's memory
  fetch,    // copy: waits for it and answers the bytes
  drop_copy,
  await,  // value or done
  ready,
  drop_value  // no answer, as the other drops
};

constexpr bool is_answered(Op op) {
  return op != Op::drop_program && op != Op::drop_copy && op != Op::drop_value;
}

// What a call ends with.
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

// Both give false, or nothing, once the other side is gone.
bool send_frame(int socket, std::string_view bytes);
std::optional<std::string> receive_frame(int socket);

// What a program looks like to a process.
struct ProgramFacts {
  std::uint64_t number = 0;
  std::vector<std::int32_t> own_ids = {};       // of its devices that are this process's
  std::vector<std::int32_t> result_types = {};  // pjrt_abi::ElementType
  std::vector<std::vector<std::int64_t>> result_dims = {};
  std::vector<std::int32_t> donated = {};  // arguments

  void pack(Packer& out) const;
  static ProgramFacts unpack(Unpacker& in);
};

}  // namespace smelt::stand_in
