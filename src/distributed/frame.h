// Frames between a process and the hub: u32 length of what follows, u8 kind, u64 call, payload; all
// little-endian. Texts in payloads: u32 length, bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt {

inline constexpr std::uint32_t kPodProtocol = 1;
inline constexpr std::size_t kFrameHeader = 4 + 1 + 8;
inline constexpr std::size_t kMostPayload = std::size_t{64} << 20;

enum class FrameKind : std::uint8_t {
  hail = 1,  // hub: nonce
  hello,     // who comes (hello.h)
  welcome,   // hub: all have come, and who they are
  taken,     // hub: text; this place is another's, which may go
  gather,    // key, u64 timeout in ms, payload
  put,       // key, value
  get,       // key, u64 timeout in ms
  try_get,   // key
  answer,    // hub: u8 status, then texts
  beat,      // doing, u64 ms since then; from the hub: nothing
  abort,     // text, u8 exit code
  end,       // hub: text, u8 exit code
  bye,       // nothing
};

// late: not all processes came to the gather in time.
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

// SystemError where a payload ends too early.
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

}  // namespace smelt
