#include "distributed/frame.h"

#include "base/error.h"

namespace smelt::distributed {

PayloadWriter& PayloadWriter::number(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xff);
  return *this;
}

PayloadWriter& PayloadWriter::text(std::string_view value) {
  number(value.size(), 4);
  out_ += value;
  return *this;
}

std::uint64_t PayloadReader::number(int bytes) {
  std::uint64_t value = 0;
  int shift = 0;
  for (const char c : this->bytes(static_cast<std::size_t>(bytes))) {
    value |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
    shift += 8;
  }
  return value;
}

std::string_view PayloadReader::bytes(std::size_t count) {
  if (count > rest_.size())
    throw SystemError(str("pod: a frame ends after ", rest_.size(), " of ", count, " bytes"));
  const std::string_view out = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return out;
}

std::string frame_header(FrameKind kind, std::uint64_t call, std::size_t payload) {
  return PayloadWriter()
      .number(1 + 8 + payload, 4)
      .number(static_cast<std::uint64_t>(kind), 1)
      .number(call, 8)
      .take();
}

std::string encode(const Frame& frame) {
  return frame_header(frame.kind, frame.call, frame.payload.size()) + frame.payload;
}

}  // namespace smelt::distributed
