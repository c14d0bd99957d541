#include "io/formats/record_layout.h"

#include <bit>
#include <cstring>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "io/formats/tfrecord.h"

namespace smelt::io {
namespace {

static_assert(std::endian::native ==
              std::endian::little);  // narrow numbers are stored in native order

constexpr std::string_view kMagic = "SMELTIDX";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kCheckedFrom = 16;  // the checksum covers the bytes from this offset
constexpr std::size_t kHeaderBytes = 48;

template <class T>
std::uint64_t sum_of(const char* at, std::size_t count) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, at + i * sizeof value, sizeof value);
    sum += value;
  }
  return sum;
}

std::size_t width_of(std::uint64_t value) {
  return value <= 0xFF ? 1 : value <= 0xFFFF ? 2 : value <= 0xFFFFFFFF ? 4 : 8;
}

bool is_width(std::uint32_t width) { return width <= 8 && std::has_single_bit(width); }

}  // namespace

NarrowNumbers::NarrowNumbers(std::string bytes, std::size_t width)
    : bytes_(std::move(bytes)), width_(width) {
  CHECK(width <= 8 && std::has_single_bit(width) && bytes_.size() % width == 0, width);
}

std::uint64_t NarrowNumbers::operator[](std::size_t i) const {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + i * width_, width_);
  return value;
}

std::uint64_t NarrowNumbers::sum(std::size_t first, std::size_t last) const {
  const char* at = bytes_.data() + first * width_;
  const std::size_t count = last - first;
  switch (width_) {
    case 1:
      return sum_of<std::uint8_t>(at, count);
    case 2:
      return sum_of<std::uint16_t>(at, count);
    case 4:
      return sum_of<std::uint32_t>(at, count);
    default:
      return sum_of<std::uint64_t>(at, count);
  }
}

void NarrowNumbers::push_back(std::uint64_t value) {
  widen(width_of(value));
  bytes_.append(reinterpret_cast<const char*>(&value), width_);
}

void NarrowNumbers::append(const NarrowNumbers& other) {
  widen(other.width_);
  if (width_ == other.width_)
    bytes_ += other.bytes_;
  else
    for (std::size_t i = 0; i < other.size(); ++i) push_back(other[i]);
}

void NarrowNumbers::widen(std::size_t width) {
  if (width <= width_) return;
  std::string wide;
  wide.reserve(bytes_.size() / width_ * width);
  for (std::size_t i = 0; i < size(); ++i) {
    const std::uint64_t value = (*this)[i];
    wide.append(reinterpret_cast<const char*>(&value), width);
  }
  bytes_ = std::move(wide);
  width_ = width;
}

std::string encode_record_layout(const RecordLayout& layout) {
  CHECK(layout.tokens.size() == 0 || layout.tokens.size() == layout.sizes.size(),
        layout.tokens.size());
  std::string checked;
  append_little_endian(checked, std::uint64_t{layout.sizes.size()});
  checked.append(layout.ends.data(), layout.ends.size());
  append_little_endian(checked, static_cast<std::uint32_t>(layout.sizes.width()));
  append_little_endian(
      checked, static_cast<std::uint32_t>(layout.tokens.size() == 0 ? 0 : layout.tokens.width()));
  checked += layout.sizes.bytes();
  checked += layout.tokens.bytes();
  std::string out(kMagic);
  append_little_endian(out, kVersion);
  append_little_endian(out, crc32c(checked));
  return out + checked;
}

RecordLayout decode_record_layout(std::string_view bytes, std::string_view where) {
  const auto require = [&](bool condition, std::string_view what) {
    if (!condition)
      throw UsageError(str(where, ": ", what),
                       "remove the file and write it again with `smelt data index`");
  };
  require(bytes.size() >= kHeaderBytes && bytes.starts_with(kMagic), "not a record index");
  const auto version = from_little_endian<std::uint32_t>(bytes.substr(8));
  require(version == kVersion, str("version ", version, ", not ", kVersion));
  require(from_little_endian<std::uint32_t>(bytes.substr(12)) == crc32c(bytes.substr(kCheckedFrom)),
          "wrong checksum");
  const auto records = from_little_endian<std::uint64_t>(bytes.substr(16));
  const auto width = from_little_endian<std::uint32_t>(bytes.substr(40)),
             tokens_width = from_little_endian<std::uint32_t>(bytes.substr(44));
  require(is_width(width) && (tokens_width == 0 || is_width(tokens_width)),
          str("numbers of ", width, " and ", tokens_width, " bytes"));
  const std::string_view body = bytes.substr(kHeaderBytes);
  require(records <= body.size() && records * (width + tokens_width) == body.size(),
          str(records, " records in ", body.size(), " bytes"));
  RecordLayout out{
      .sizes = {std::string(body.substr(0, records * width)), width}, .tokens = {}, .ends = {}};
  if (tokens_width > 0) out.tokens = {std::string(body.substr(records * width)), tokens_width};
  std::memcpy(out.ends.data(), bytes.data() + 24, out.ends.size());
  return out;
}

}  // namespace smelt::io
