// The shim's way to the pod's server: a connection for each thread, beside the one that is the
// process's life.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "distributed/stand_in/frames.h"

namespace smelt::stand_in {

// Of a client; POD_SOCKET, POD_PROCESS and POD_SIZE say where and who.
class Session {
 public:
  // Waits until all processes have come. Throws Fault.
  Session();
  ~Session();
  Session(const Session&) = delete;

  // What hello answered behind the generation.
  const std::string& welcome() const { return welcome_; }
  // On this thread's connection. Throws Fault.
  std::string call(Op op, std::string_view payload = {}) const;
  // Without an answer, and without an error.
  void tell(Op op, std::string_view payload) const noexcept;
  // For a promise or a copy, of all of this process's clients.
  static std::uint64_t next_number();

 private:
  int connection() const;

  int life_ = -1;
  std::uint64_t generation_ = 0;
  std::string welcome_;
};

}  // namespace smelt::stand_in
