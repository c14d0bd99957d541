#include "io/formats/example.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/hex.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// tf.train.Example with ids = [0, 1, 300, -2], b = ["x", ""], a = [1, 0, -2.5], none = [] of
// integers, as protobuf 7's pure-Python runtime serialises it.
const std::string kMessage = from_hex(
    "0a4c0a190a0369647312121a100a0e0001ac02feffffffffffffffff010a0c0a016212070a050a01780a00"
    "0a150a01611210120e0a0c0000803f00000000000020c00a0a0a046e6f6e6512021a00");

std::string example_error(auto&& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Example, WritesTheSameBytesAsTensorFlow) {
  const std::vector<std::int32_t> ids{0, 1, 300, -2};
  const std::vector<float> reals{1, 0, -2.5};
  const std::vector<std::string> bytes{"x", ""};
  ExampleWriter writer;
  for (int again = 0; again < 2; ++again) {
    writer.integers("ids", ids);
    writer.bytes("b", bytes);
    writer.reals("a", reals);
    writer.integers("none", {});
    EXPECT_EQ(writer.take(), kMessage);
  }
}

TEST(Example, ReadsAMessageWrittenByTensorFlow) {
  const Example example(kMessage, "here");
  EXPECT_THAT(example.integers("ids"), ElementsAre(0, 1, 300, -2));
  EXPECT_THAT(example.bytes("b"), ElementsAre("x", ""));
  EXPECT_THAT(example.reals("a"), ElementsAre(1, 0, -2.5));
  EXPECT_THAT(example.integers("none"), ElementsAre());
  EXPECT_THAT(example.names(), ElementsAre("ids", "b", "a", "none"));
}

// Returns a message with one feature "x", whose list is in field `kind`. In the map entry the value
// precedes the key.
std::string message_with(std::uint32_t kind, const WireWriter& list) {
  WireWriter feature, entry, features, example;
  feature.message(kind, list);
  entry.message(2, feature);
  entry.bytes(1, "x");
  features.message(1, entry);
  example.varint(15, 7);  // a field of a later version
  example.message(1, features);
  return example.take();
}

TEST(Example, ReadsUnpackedListsAndFieldsInAnyOrder) {
  WireWriter integers, reals;
  for (const int value : {5, -1}) integers.integer(1, value);
  for (const float value : {0.5f, 2.0f}) reals.real(1, value);
  EXPECT_THAT(Example(message_with(3, integers), "here").integers("x"), ElementsAre(5, -1));
  EXPECT_THAT(Example(message_with(2, reals), "here").reals("x"), ElementsAre(0.5, 2));
}

TEST(Example, UsesTheLastOfTwoFeaturesWithTheSameName) {
  WireWriter first, second;
  first.integer(1, 1);
  second.integer(1, 2);
  const Example example(message_with(3, first) + message_with(3, second), "here");
  EXPECT_THAT(example.integers("x"), ElementsAre(2));
  EXPECT_THAT(example.names(), ElementsAre("x"));
}

TEST(Example, ReportsAMissingFeatureAndThePresentOnes) {
  const Example example(kMessage, "train.tfrecord: record 3");
  EXPECT_THAT(
      example_error([&] { (void)example.integers("input_ids"); }),
      HasSubstr("train.tfrecord: record 3: no feature 'input_ids'; it has: ids, b, a, none"));
}

TEST(Example, RejectsAFeatureOfTheWrongType) {
  const Example example(kMessage, "here");
  EXPECT_THAT(example_error([&] { (void)example.integers("a"); }),
              HasSubstr("here: feature 'a' is not a list of integers"));
  EXPECT_THAT(example_error([&] { (void)example.reals("ids"); }),
              HasSubstr("here: feature 'ids' is not a list of reals"));
}

TEST(Example, RejectsEveryTruncation) {
  for (std::size_t size = 1; size < kMessage.size(); ++size)
    EXPECT_THAT(example_error([&] { Example(std::string_view(kMessage).substr(0, size), "here"); }),
                HasSubstr("here: truncated"))
        << size;
}

}  // namespace
}  // namespace smelt::io
