// Where the records of a TFRecord file are, without the file:
// docs/reference/formats/record_index.md. Bytes only, no files.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::io {

// Numbers in as few bytes each as the largest of them needs: 1, 2, 4 or 8.
class NarrowNumbers {
 public:
  NarrowNumbers() = default;
  // `bytes` as bytes() gave them, with that width.
  NarrowNumbers(std::string bytes, std::size_t width);

  void push_back(std::uint64_t value);
  void append(const NarrowNumbers& other);
  std::size_t size() const { return bytes_.size() / width_; }
  std::uint64_t operator[](std::size_t i) const;
  // Returns the sum of the numbers [first, last), modulo 2^64.
  std::uint64_t sum(std::size_t first, std::size_t last) const;

  // Little-endian, one after another.
  const std::string& bytes() const { return bytes_; }
  std::size_t width() const { return width_; }

 private:
  void widen(std::size_t width);

  std::string bytes_;
  std::size_t width_ = 1;
};

struct RecordLayout {
  NarrowNumbers sizes;   // of each record, header and footer included
  NarrowNumbers tokens;  // of each record, padding not counted; empty when that is not known
  // The file's first 12 bytes (the header of the first record) and its last 4 (the last record's
  // checksum): by them and its size a file is known again. Zeros when it has no record.
  std::array<char, 16> ends{};

  std::uint64_t file_size() const { return sizes.sum(0, sizes.size()); }
};

std::string encode_record_layout(const RecordLayout& layout);
// UsageError beginning with `where` for bytes that no encode_record_layout made.
RecordLayout decode_record_layout(std::string_view bytes, std::string_view where);

}  // namespace smelt::io
