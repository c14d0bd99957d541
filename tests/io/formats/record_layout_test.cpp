#include "io/formats/record_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "io/formats/crc32c.h"
#include "support/hex.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

TEST(NarrowNumbers, StoreAndSumNumbersOfAnyWidth) {
  std::vector<std::uint64_t> values;
  NarrowNumbers numbers;
  for (const std::uint64_t next : {0ull, 255ull, 3ull, 256ull, 65535ull, 1ull, 65536ull,
                                   4294967295ull, 2ull, 4294967296ull, 1ull << 62, 5ull}) {
    values.push_back(next);
    numbers.push_back(next);
    ASSERT_EQ(numbers.size(), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(numbers[i], values[i]);
      ASSERT_EQ(numbers.sum(i, values.size()),
                std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(i), values.end(),
                                std::uint64_t{0}));
    }
  }
  EXPECT_EQ(numbers.width(), 8u);
}

TEST(NarrowNumbers, AppendUsesTheLargerWidth) {
  NarrowNumbers narrow, wide;
  narrow.push_back(7);
  wide.push_back(70000);
  NarrowNumbers both = narrow;
  both.append(wide);
  both.append(narrow);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[0], 7u);
  EXPECT_EQ(both[1], 70000u);
  EXPECT_EQ(both[2], 7u);
  EXPECT_EQ(both.width(), 4u);
}

// Two records of 300 and 16 bytes, 42 and 0 tokens.
RecordLayout layout() {
  RecordLayout out;
  out.sizes.push_back(300);
  out.sizes.push_back(16);
  out.tokens.push_back(42);
  out.tokens.push_back(0);
  for (std::size_t i = 0; i < out.ends.size(); ++i) out.ends[i] = static_cast<char>(i + 1);
  return out;
}

std::string layout_error(std::string_view bytes) {
  try {
    decode_record_layout(bytes, "a.index");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RecordLayout, HasTheDocumentedFormat) {
  const std::string checked =
      "0200000000000000"
      "0102030405060708090a0b0c0d0e0f10"
      "02000000"
      "01000000"
      "2c011000"
      "2a00";
  const std::uint32_t crc = crc32c(from_hex(checked));
  std::string crc_bytes;
  for (int byte = 0; byte < 4; ++byte) crc_bytes.push_back(static_cast<char>(crc >> (8 * byte)));
  EXPECT_EQ(encode_record_layout(layout()), from_hex("534d454c54494458"
                                                     "01000000") +
                                                crc_bytes + from_hex(checked));
}

TEST(RecordLayout, RoundTrips) {
  const RecordLayout back = decode_record_layout(encode_record_layout(layout()), "here");
  EXPECT_EQ(back.sizes.bytes(), layout().sizes.bytes());
  EXPECT_EQ(back.tokens.bytes(), layout().tokens.bytes());
  EXPECT_EQ(back.ends, layout().ends);
  EXPECT_EQ(back.file_size(), 316u);
  RecordLayout without = layout();
  without.tokens = {};
  EXPECT_EQ(decode_record_layout(encode_record_layout(without), "here").tokens.size(), 0u);
  EXPECT_EQ(decode_record_layout(encode_record_layout({}), "here").sizes.size(), 0u);
}

TEST(RecordLayout, RejectsEveryChangedByteAndTruncation) {
  const std::string whole = encode_record_layout(layout());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string broken = whole;
    broken[at] = static_cast<char>(broken[at] ^ 0x10);
    EXPECT_THAT(layout_error(broken), HasSubstr("a.index: ")) << at;
    EXPECT_THAT(layout_error(whole.substr(0, at)), HasSubstr("a.index: ")) << at;
  }
}

// Returns an encoded layout with one changed byte and a valid checksum.
std::string with(std::size_t at, char value) {
  std::string bytes = encode_record_layout(layout());
  bytes[at] = value;
  const std::uint32_t crc = crc32c(std::string_view(bytes).substr(16));
  for (std::size_t byte = 0; byte < 4; ++byte)
    bytes[12 + byte] = static_cast<char>(crc >> (8 * byte));
  return bytes;
}

TEST(RecordLayout, ReportsInvalidValuesUnderAValidChecksum) {
  EXPECT_THAT(layout_error("text"), HasSubstr("a.index: not a record index"));
  EXPECT_THAT(layout_error(with(8, 2)), HasSubstr("a.index: version 2, not 1"));
  EXPECT_THAT(layout_error(with(16, 3)), HasSubstr("a.index: 3 records in 6 bytes"));
  EXPECT_THAT(layout_error(with(23, '\x7f')), HasSubstr(" records in 6 bytes"));
  EXPECT_THAT(layout_error(with(40, 3)), HasSubstr("a.index: numbers of 3 and 1 bytes"));
  EXPECT_THAT(layout_error(with(44, 16)), HasSubstr("a.index: numbers of 2 and 16 bytes"));
  EXPECT_THAT(layout_error(with(50, 1)), testing::IsEmpty());
  EXPECT_THAT(layout_error(encode_record_layout(layout()).replace(50, 1, "\1")),
              HasSubstr("a.index: wrong checksum"));
}

}  // namespace
}  // namespace smelt::io
