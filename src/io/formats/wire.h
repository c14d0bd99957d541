// Protocol buffer wire format (https://protobuf.dev/programming-guides/encoding): the fields of a
// message by number, without generated code. Groups, a deprecated feature, are rejected.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::io {

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

// Appends fields in the order of the calls. A nested message is the bytes of another writer.
class WireWriter {
 public:
  void varint(std::uint32_t field, std::uint64_t value);   // also enum and bool
  void integer(std::uint32_t field, std::int64_t value) {  // int32, int64
    varint(field, static_cast<std::uint64_t>(value));
  }
  void fixed32(std::uint32_t field, std::uint32_t value);
  void fixed64(std::uint32_t field, std::uint64_t value);
  void real(std::uint32_t field, float value) {
    fixed32(field, std::bit_cast<std::uint32_t>(value));
  }
  void real(std::uint32_t field, double value) {
    fixed64(field, std::bit_cast<std::uint64_t>(value));
  }
  void bytes(std::uint32_t field, std::string_view value);  // string, bytes, message, packed list
  void message(std::uint32_t field, const WireWriter& value) { bytes(field, value.text()); }

  // Elements of packed lists, without field numbers.
  void raw_varint(std::uint64_t value);
  void raw_varints(std::span<const std::int32_t> values);
  void raw_fixed32(std::uint32_t value);
  void raw_fixed64(std::uint64_t value);
  void raw_bytes(std::string_view value) { text_.append(value); }

  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

// Returns the encoded size of a varint, 1 to 10 bytes.
std::size_t varint_size(std::uint64_t value);

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t bits = 0;  // varint, fixed32, fixed64
  std::string_view bytes;  // length-delimited; points into the reader's input

  std::int64_t integer() const { return static_cast<std::int64_t>(bits); }
  float f32() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
  double f64() const { return std::bit_cast<double>(bits); }
};

// Iterates over the fields of one protobuf message; callers ignore unknown ones. The input must
// outlive the reader and its fields. Malformed input (truncated, a varint over 64 bits, field
// number 0, a group, type 6 or 7) throws a UsageError that names `what` and the position.
class WireReader {
 public:
  explicit WireReader(std::string_view input, std::string_view what = "protobuf message")
      : input_(input), what_(what) {}

  std::optional<WireField> next();  // nullopt at the end
  bool done() const { return at_ == input_.size(); }

  // Read values without field numbers, such as the elements of packed lists.
  std::uint64_t raw_varint();
  std::uint32_t raw_fixed32();
  std::uint64_t raw_fixed64();
  std::string_view raw_bytes(std::uint64_t size) { return take(size); }

 private:
  std::string_view take(std::uint64_t size);
  [[noreturn]] void fail(std::string_view problem) const;

  std::string_view input_;
  std::string_view what_;
  std::size_t at_ = 0;
};

// Appends the values of a repeated integer field to `out`, packed or not.
void append_integers(const WireField& field, std::string_view what, std::vector<std::int64_t>& out);
// Appends the values of a repeated float field to `out`, packed or not.
void append_floats(const WireField& field, std::string_view what, std::vector<float>& out);

}  // namespace smelt::io
