#include "io/formats/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::string_literals;

std::string wire_error(const std::string& input) {
  try {
    WireReader reader(input, "thing.bin");
    while (reader.next()) {
    }
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

// The worked examples of protobuf.dev/programming-guides/encoding.
TEST(Wire, MatchesTheExamplesOfTheProtobufGuide) {
  WireWriter test1;
  test1.varint(1, 150);
  EXPECT_EQ(test1.text(), "\x08\x96\x01"s);
  WireWriter test2;
  test2.bytes(2, "testing");
  EXPECT_EQ(test2.text(), "\x12\x07testing"s);
  WireWriter test3;
  test3.message(3, test1);
  EXPECT_EQ(test3.text(), "\x1a\x03\x08\x96\x01"s);
  WireWriter minus_two;
  minus_two.integer(1, -2);
  EXPECT_EQ(minus_two.text(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(Wire, WritesFixedWidthValuesLittleEndian) {
  WireWriter writer;
  writer.real(1, 1.0f);
  writer.real(2, 1.0);
  writer.fixed32(16, 0x01020304);
  EXPECT_EQ(writer.text(),
            "\x0d\0\0\x80\x3f"s + "\x11\0\0\0\0\0\0\xf0\x3f"s + "\x85\x01\x04\x03\x02\x01"s);
}

TEST(Wire, WritesManyVarintsLikeSingleOnes) {
  const std::vector<std::int32_t> values{0, 1, 127, 128, 30521, 65536, 2147483647, -1, -2147483647};
  WireWriter many, one_by_one;
  many.raw_varints(values);
  for (const std::int32_t value : values)
    one_by_one.raw_varint(static_cast<std::uint64_t>(std::int64_t{value}));
  EXPECT_EQ(many.text(), one_by_one.text());
}

TEST(Wire, ReadsBackWhatItWrites) {
  const std::vector<std::uint64_t> values{0,          1,
                                          127,        128,
                                          16383,      16384,
                                          1ull << 32, (1ull << 63) - 1,
                                          1ull << 63, std::numeric_limits<std::uint64_t>::max()};
  for (const std::uint64_t value : values) {
    WireWriter writer;
    writer.varint(1, value);
    writer.fixed64((1u << 29) - 1, value);
    writer.bytes(3, std::string(value % 300, 'x'));
    WireReader reader(writer.text());
    EXPECT_EQ(reader.next()->bits, value);
    const WireField wide = reader.next().value();
    EXPECT_EQ(wide.number, (1u << 29) - 1);
    EXPECT_EQ(wide.bits, value);
    EXPECT_EQ(reader.next()->bytes.size(), value % 300);
    EXPECT_FALSE(reader.next().has_value());
  }
}

TEST(Wire, VarintSizeIsTheNumberOfBytesWritten) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t value : {1ull << bit, (1ull << bit) - 1}) {
      WireWriter writer;
      writer.raw_varint(value);
      EXPECT_EQ(varint_size(value), writer.text().size()) << value;
    }
  }
}

TEST(Wire, ReadsPackedAndUnpackedLists) {
  WireWriter packed;
  for (const std::int64_t value : {7, 300, -1})
    packed.raw_varint(static_cast<std::uint64_t>(value));
  WireWriter writer;
  writer.message(1, packed);
  writer.integer(1, 9);
  WireWriter floats;
  floats.raw_fixed32(std::bit_cast<std::uint32_t>(2.5f));
  writer.message(2, floats);
  writer.real(2, -1.0f);
  std::vector<std::int64_t> integers;
  std::vector<float> reals;
  WireReader reader(writer.text());
  while (const auto field = reader.next()) {
    if (field->number == 1) append_integers(*field, "list", integers);
    if (field->number == 2) append_floats(*field, "list", reals);
  }
  EXPECT_THAT(integers, ElementsAre(7, 300, -1, 9));
  EXPECT_THAT(reals, ElementsAre(2.5f, -1.0f));
}

TEST(Wire, RejectsEveryTruncationInsideAField) {
  WireWriter writer;
  writer.varint(1, 1ull << 40);
  writer.bytes(2, "some text");
  writer.fixed32(300, 5);
  writer.fixed64(4, 6);
  std::vector<std::size_t> ends{0};  // truncation at these positions leaves whole fields
  WireReader whole(writer.text());
  for (const std::size_t size : {7u, 11u, 6u, 9u}) ends.push_back(ends.back() + size);
  ASSERT_EQ(ends.back(), writer.text().size());
  for (std::size_t cut = 0; cut < writer.text().size(); ++cut) {
    const std::string message = wire_error(writer.text().substr(0, cut));
    if (std::find(ends.begin(), ends.end(), cut) != ends.end()) {
      EXPECT_EQ(message, "") << cut;
    } else {
      EXPECT_THAT(message, HasSubstr("thing.bin: truncated")) << cut;
    }
  }
}

TEST(Wire, RejectsInvalidEncodings) {
  EXPECT_THAT(wire_error("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s),
              HasSubstr("a varint of more than 64 bits at byte 1 of 11 bytes"));
  EXPECT_THAT(wire_error(std::string(12, '\x80')), HasSubstr("a varint of more than 64 bits"));
  EXPECT_THAT(wire_error("\x02\x00"s), HasSubstr("field number 0 at byte 0 of 2 bytes"));
  EXPECT_THAT(wire_error("\x80\x80\x80\x80\x10"s), HasSubstr("field number 536870912"));
  EXPECT_THAT(wire_error("\x0b"s), HasSubstr("wire type 3"));
  EXPECT_THAT(wire_error("\x0f"s), HasSubstr("wire type 7"));
  EXPECT_THAT(wire_error("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s),
              HasSubstr("truncated: expected 18446744073709551615 bytes"));
}

TEST(Wire, RejectsARealNumberInAListOfIntegers) {
  std::vector<std::int64_t> out;
  const WireField field{.number = 4, .type = WireType::fixed64, .bits = 0, .bytes = {}};
  try {
    append_integers(field, "input_ids", out);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("input_ids: field 4 is not a list of integers"));
  }
}

}  // namespace
}  // namespace smelt::io
