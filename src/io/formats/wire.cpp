#include "io/formats/wire.h"

#include "base/error.h"
#include "io/formats/little_endian.h"

namespace smelt::io {
namespace {

constexpr std::uint32_t kMaxField = (1u << 29) - 1;

std::uint64_t tag(std::uint32_t field, WireType type) {
  CHECK(field >= 1 && field <= kMaxField, field);
  return std::uint64_t{field} << 3 | static_cast<std::uint64_t>(type);
}

}  // namespace

void WireWriter::raw_varint(std::uint64_t value) {
  while (value >= 0x80) {
    text_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  text_.push_back(static_cast<char>(value));
}

void WireWriter::raw_varints(std::span<const std::int32_t> values) {
  constexpr std::size_t kMost = 10;  // maximum bytes of a varint
  const std::size_t begin = text_.size();
  text_.resize(begin + kMost * values.size());
  char* to = text_.data() + begin;
  for (const std::int32_t value : values) {
    auto rest = static_cast<std::uint64_t>(std::int64_t{value});
    for (; rest >= 0x80; rest >>= 7) *to++ = static_cast<char>(rest | 0x80);
    *to++ = static_cast<char>(rest);
  }
  text_.resize(static_cast<std::size_t>(to - text_.data()));
}

void WireWriter::raw_fixed32(std::uint32_t value) { append_little_endian(text_, value); }

void WireWriter::raw_fixed64(std::uint64_t value) { append_little_endian(text_, value); }

void WireWriter::varint(std::uint32_t field, std::uint64_t value) {
  raw_varint(tag(field, WireType::varint));
  raw_varint(value);
}

void WireWriter::fixed32(std::uint32_t field, std::uint32_t value) {
  raw_varint(tag(field, WireType::fixed32));
  raw_fixed32(value);
}

void WireWriter::fixed64(std::uint32_t field, std::uint64_t value) {
  raw_varint(tag(field, WireType::fixed64));
  raw_fixed64(value);
}

void WireWriter::bytes(std::uint32_t field, std::string_view value) {
  raw_varint(tag(field, WireType::bytes));
  raw_varint(value.size());
  text_.append(value);
}

std::size_t varint_size(std::uint64_t value) {
  return value == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(value)) + 6) / 7;
}

void WireReader::fail(std::string_view problem) const {
  throw UsageError(str(what_, ": ", problem, " at byte ", at_, " of ", input_.size(), " bytes"),
                   "the data are damaged or in another format; write or download them again");
}

std::string_view WireReader::take(std::uint64_t size) {
  if (size > input_.size() - at_) fail(str("truncated: expected ", size, " bytes"));
  const std::string_view out = input_.substr(at_, size);
  at_ += size;
  return out;
}

std::uint64_t WireReader::raw_varint() {
  std::uint64_t value = 0;
  std::size_t at = at_;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at == input_.size()) fail("truncated within a varint");
    const auto byte = static_cast<unsigned char>(input_[at++]);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) {
      at_ = at;
      return value;
    }
  }
  fail("a varint of more than 64 bits");
}

std::uint32_t WireReader::raw_fixed32() { return from_little_endian<std::uint32_t>(take(4)); }
std::uint64_t WireReader::raw_fixed64() { return from_little_endian<std::uint64_t>(take(8)); }

std::optional<WireField> WireReader::next() {
  if (done()) return std::nullopt;
  const std::size_t start = at_;
  const std::uint64_t key = raw_varint();
  const auto refuse = [&](std::string_view problem) {
    at_ = start;
    fail(problem);
  };
  if (key >> 3 == 0 || key >> 3 > kMaxField) refuse(str("field number ", key >> 3));
  WireField field{.number = static_cast<std::uint32_t>(key >> 3),
                  .type = static_cast<WireType>(key & 7),
                  .bits = 0,
                  .bytes = {}};
  switch (field.type) {
    case WireType::varint:
      field.bits = raw_varint();
      break;
    case WireType::fixed64:
      field.bits = raw_fixed64();
      break;
    case WireType::bytes:
      field.bytes = take(raw_varint());
      break;
    case WireType::fixed32:
      field.bits = raw_fixed32();
      break;
    default:
      refuse(str("wire type ", key & 7));
  }
  return field;
}

void append_integers(const WireField& field, std::string_view what,
                     std::vector<std::int64_t>& out) {
  if (field.type == WireType::varint) {
    out.push_back(field.integer());
    return;
  }
  if (field.type != WireType::bytes) {
    throw UsageError(str(what, ": field ", field.number, " is not a list of integers"),
                     "check which program wrote this file");
  }
  WireReader packed(field.bytes, what);
  while (!packed.done()) out.push_back(static_cast<std::int64_t>(packed.raw_varint()));
}

void append_floats(const WireField& field, std::string_view what, std::vector<float>& out) {
  if (field.type == WireType::fixed32) {
    out.push_back(field.f32());
    return;
  }
  if (field.type != WireType::bytes) {
    throw UsageError(str(what, ": field ", field.number, " is not a list of floats"),
                     "check which program wrote this file");
  }
  WireReader packed(field.bytes, what);
  while (!packed.done()) out.push_back(std::bit_cast<float>(packed.raw_fixed32()));
}

}  // namespace smelt::io
