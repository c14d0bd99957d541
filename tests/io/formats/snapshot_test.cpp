#include "io/formats/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_of.h"
#include "support/snapshots.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr RecordPlace kPlace{.file = "a.snapshot", .offset = 30};

std::string metadata_error(const TestSnapshot& snapshot) {
  return error_of<UsageError>(
      [&] { (void)parse_snapshot_metadata(snapshot_metadata(snapshot), "m"); });
}

std::string tensor_error(SnapshotType type, const std::string& message) {
  return error_of<UsageError>([&] {
    std::vector<std::int32_t> ids;
    TokenTensors(type).append(message, kPlace, ids);
  });
}

TEST(SnapshotMetadata, ParsesRunTypeAndElementCount) {
  TestSnapshot written = dealt_out(0, 5, 2);
  written.run = "15423";
  written.type = 17;
  const SnapshotMetadata read = parse_snapshot_metadata(snapshot_metadata(written), "m");
  EXPECT_EQ(read.run, "15423");
  EXPECT_EQ(read.type, SnapshotType::uint16);
  EXPECT_EQ(read.elements, 5u);
  written.elements = -2;  // TensorFlow writes this for an unknown number
  EXPECT_EQ(parse_snapshot_metadata(snapshot_metadata(written), "m").elements, std::nullopt);
}

TEST(SnapshotMetadata, ReportsWhyASnapshotHoldsNoTokens) {
  TestSnapshot s = dealt_out(0, 5, 1);
  s.version = 1;
  EXPECT_EQ(metadata_error(s),
            "m: snapshot version 1, expected 2\n  hint: save it again with tf.data.Dataset.save");
  s.version = 0;
  EXPECT_THAT(metadata_error(s), HasSubstr("m: snapshot version 0, expected 2"));
  s.version = 2;
  s.types = {9, 9};
  EXPECT_THAT(metadata_error(s),
              HasSubstr("m: each element has 2 tensors, expected one\n  hint: give"));
  s.types = {7};
  EXPECT_THAT(metadata_error(s), HasSubstr("m: elements are string, expected integers"));
  s.types = {259};
  EXPECT_THAT(metadata_error(s), HasSubstr("m: elements are type 259, expected integers"));
  s.types = {};
  s.finalized = false;
  EXPECT_THAT(metadata_error(s), HasSubstr("m: the snapshot is incomplete"));
  s.finalized = true;
  s.run = "../x";
  EXPECT_THAT(metadata_error(s), HasSubstr("m: run '../x' is not a number"));
  EXPECT_THAT(error_of<UsageError>([&] { (void)parse_snapshot_metadata("\x22\x01\x02", "m"); }),
              HasSubstr("m: field 4 has the wrong wire type 2"));
}

TEST(TokenTensors, ReadScalarsAndListsOfEveryIntegerType) {
  for (const int type : {3, 4, 5, 6, 9, 17, 22, 23}) {
    TokenTensors tensors(static_cast<SnapshotType>(type));
    std::vector<std::int32_t> ids;
    for (const std::int64_t id : {0, 5, 127}) {
      tensors.append(tensor_message(type, true, {id}), kPlace, ids);
      EXPECT_TRUE(tensors.scalar());
    }
    tensors.append(tensor_message(type, false, {1, 2, 3}), kPlace, ids);
    EXPECT_FALSE(tensors.scalar());
    tensors.append(tensor_message(type, false, {}), kPlace, ids);
    tensors.append(tensor_message(type, false, {4}), kPlace, ids);
    EXPECT_FALSE(tensors.scalar());
    EXPECT_THAT(ids, ElementsAre(0, 5, 127, 1, 2, 3, 4)) << type;
  }
  std::vector<std::int32_t> ids;
  TokenTensors(SnapshotType::uint16).append(tensor_message(17, true, {65535}), kPlace, ids);
  TokenTensors(SnapshotType::int64).append(tensor_message(9, true, {2147483647}), kPlace, ids);
  EXPECT_THAT(ids, ElementsAre(65535, 2147483647));
}

TEST(TokenTensors, ReportsInvalidTokensWithFileAndOffset) {
  EXPECT_EQ(tensor_error(SnapshotType::int64, tensor_message(9, true, {-1})),
            "a.snapshot: record at offset 30: -1 is not a token id\n  hint: ids are from 0 to "
            "2147483647");
  EXPECT_THAT(tensor_error(SnapshotType::uint32, tensor_message(22, false, {1, 2147483648})),
              HasSubstr("2147483648 is not a token id"));
  EXPECT_THAT(tensor_error(SnapshotType::int32, tensor_message(9, true, {1})),
              HasSubstr("a tensor of int64, not int32 as snapshot.metadata says"));
  const std::string two_dims("\x08\x03\x12\x08\x12\x02\x08\x01\x12\x02\x08\x01\x22\x04\0\0\0\0",
                             18);
  EXPECT_THAT(tensor_error(SnapshotType::int32, two_dims),
              HasSubstr("a tensor of rank 2, not 0 or 1"));
  const std::string values("\x08\x03\x12\x00\x3a\x01\x07", 7);  // int_val
  EXPECT_THAT(tensor_error(SnapshotType::int32, values),
              HasSubstr("a tensor with field 7, not one with tensor_content"));
  const std::string short_content("\x08\x03\x12\x00\x22\x03\0\0\0", 9);
  EXPECT_THAT(tensor_error(SnapshotType::int32, short_content),
              HasSubstr("3 bytes for a tensor of 1 numbers"));
  EXPECT_THAT(tensor_error(SnapshotType::int32, tensor_message(3, true, {1}).substr(0, 9)),
              HasSubstr("a.snapshot: record at offset 30: truncated"));
}

TEST(SnapshotCompression, ReportsCompressionOtherThanGzip) {
  const auto error = [](std::string_view head) {
    return error_of<UsageError>([&] { check_snapshot_packing(head, "f"); });
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(error("\0\0\0\x1c\x1e\x74\x0e\0\0\0\0\0"sv),
            "f: compressed with SNAPPY\n  hint: save it with compression=\"GZIP\" or without "
            "compression");
  EXPECT_THAT(error("\x78\x9c\x12\x34\x56\x78\x9a\xbc\xde\xf0\x11\x22"sv),
              HasSubstr("f: compressed with ZLIB"));
  std::string record;
  append_record(record, "0123456789");
  EXPECT_EQ(error(record), "no error");
  EXPECT_EQ(error(""), "no error");
}

}  // namespace
}  // namespace smelt::io
