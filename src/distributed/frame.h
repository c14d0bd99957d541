// Wire format between a process and the coordination server. A frame is: u32 length of the rest, u8
// kind, u64 call number, payload; integers are little-endian. A text in a payload is: u32 length,
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::distributed {

inline constexpr std::uint32_t kPodProtocol = 1;
inline constexpr std::size_t kFrameHeader = 4 + 1 + 8;
inline constexpr std::size_t kMostPayload = std::size_t{64} << 20;

// The kinds of frames. Each comment lists the payload. Processes send these frames to the server,
// except those marked "from the server".
enum class FrameKind : std::uint8_t {
  hail = 1,  // from the server: nonce
  hello,     // a Handshake (handshake.h)
  welcome,   // from the server, when all have joined: host name and u32 pid of each rank
  taken,     // from the server: text; another process has this rank for now
  gather,    // key, u64 timeout in ms, payload
  put,       // key, value
  get,       // key, u64 timeout in ms
  try_get,   // key
  answer,    // from the server: u8 CallStatus, then texts
  beat,      // current activity, u64 its age in ms; empty from the server
  abort,     // text, u8 exit code
  end,       // from the server: text, u8 exit code
  bye,       // empty payload
};

// `late`: a rank did not join the all-gather in time.
enum class CallStatus : std::uint8_t { good, failed, missing, exists, late };

struct Frame {
  FrameKind kind;
  std::uint64_t call = 0;
  std::string payload = {};
};

std::string frame_header(FrameKind kind, std::uint64_t call, std::size_t payload);
std::string encode(const Frame& frame);

class PayloadWriter {
 public:
  PayloadWriter& number(std::uint64_t value, int bytes);
  PayloadWriter& text(std::string_view value);
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Decodes a payload. Methods throw SystemError if it ends too early.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : rest_(payload) {}
  std::uint64_t number(int bytes);
  std::string text() { return std::string(bytes(number(4))); }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view bytes(std::size_t count);
  std::string_view rest_;
};

}  // namespace smelt::distributed
