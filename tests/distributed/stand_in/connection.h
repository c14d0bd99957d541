// The shim's connections to the pod's server: one for each thread, and one that stays open as long
// as the process lives, by which the server notices its death.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "distributed/stand_in/frames.h"

namespace smelt::stand_in {

// The session of a PJRT client. POD_SOCKET is the path of the server's socket, POD_PROCESS the
// number of this process, and POD_SIZE the number of processes.
class Session {
 public:
  // Waits until all processes have joined. Throws Fault.
  Session();
  ~Session();
  Session(const Session&) = delete;

  // Returns the server's reply to hello, without the generation.
  const std::string& welcome() const { return welcome_; }
  // Sends a request on this thread's connection and returns the reply. Throws Fault.
  std::string call(Op op, std::string_view payload = {}) const;
  // Sends a request that has no reply. Ignores errors.
  void tell(Op op, std::string_view payload) const noexcept;
  // Returns a new number for a promise or a copy; no other client of the pod gets the same number.
  static std::uint64_t next_number();

 private:
  int connection() const;

  int life_ = -1;
  std::uint64_t generation_ = 0;
  std::string welcome_;
};

}  // namespace smelt::stand_in
