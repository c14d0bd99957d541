// The positions of the records in a TFRecord file, and their encoding as a record index
// (docs/reference/formats/record_index.md). Works on bytes and does not access files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::io {

// A list of integers that are stored with 1, 2, 4 or 8 bytes each, depending on the largest one.
class NarrowNumbers {
 public:
  NarrowNumbers() = default;
  // Restores a list from its bytes() and its width.
  NarrowNumbers(std::string bytes, std::size_t width);

  void push_back(std::uint64_t value);
  void append(const NarrowNumbers& other);
  std::size_t size() const { return bytes_.size() / width_; }
  std::uint64_t operator[](std::size_t i) const;
  // Returns the sum of the numbers [first, last), modulo 2^64.
  std::uint64_t sum(std::size_t first, std::size_t last) const;

  // Returns the numbers as consecutive little-endian integers.
  const std::string& bytes() const { return bytes_; }
  std::size_t width() const { return width_; }

 private:
  void widen(std::size_t width);

  std::string bytes_;
  std::size_t width_ = 1;
};

struct RecordLayout {
  NarrowNumbers sizes;   // bytes of each record, including header and footer
  NarrowNumbers tokens;  // tokens of each record without padding; empty if unknown
  // The file's first 12 bytes (the header of the first record) and last 4 bytes (the checksum of
  // the last record). Together with the file's size they identify it. Zeros if there are no
  // records.
  std::array<char, 16> ends{};

  std::uint64_t file_size() const { return sizes.sum(0, sizes.size()); }
};

std::string encode_record_layout(const RecordLayout& layout);
// Decodes the result of encode_record_layout(). Throws UsageError, beginning with `where`, for
// other bytes.
RecordLayout decode_record_layout(std::string_view bytes, std::string_view where);

}  // namespace smelt::io
