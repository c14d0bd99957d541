#include "io/formats/tensor_bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "io/formats/checkpoint_state.h"
#include "io/formats/crc32c.h"
#include "io/formats/sstable.h"
#include "io/formats/tensorflow_type.h"
#include "io/formats/wire.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

std::string golden(const std::string& name) {
  return read_file(source_path("tests/golden/tensor_bundle/" + name));
}

std::string bundle_refusal(const std::string& bytes) {
  return error_of<UsageError>([&] { parse_bundle_index(bytes, "m.index"); });
}
std::string bundle_refusal(const BundleIndex& index) {
  return bundle_refusal(bundle_index_bytes(index));
}

BundleIndex index_of(BundleEntry entry) {
  return {.tensors = {{"t", std::move(entry)}}, .parts = {}};
}
BundleEntry f32(compiler::Dims dims, std::uint64_t size) {
  return {.type = 1, .dims = std::move(dims), .size = size};
}

TEST(TensorBundle, ReadsAnIndexOfTensorFlow) {
  const BundleIndex index = parse_bundle_index(golden("types.ckpt.index"), "types");
  EXPECT_EQ(index.shards, 1);
  EXPECT_EQ(index.tensors.size(), 12u);
  const BundleEntry& table = index.tensors.at("bert/embeddings/word_embeddings");
  EXPECT_EQ(table.dims, (compiler::Dims{3, 2}));
  EXPECT_EQ(dtype_of_tensorflow(table.type), compiler::DType::f32);
  EXPECT_EQ(index.tensors.at("scalar").dims, compiler::Dims());
  EXPECT_EQ(index.tensors.at("empty").dims, (compiler::Dims{0, 4}));
  EXPECT_EQ(tensorflow_type_name(index.tensors.at("words").type), "string");
  const std::string data = golden("types.ckpt.data-00000-of-00001");
  for (const auto& [name, entry] : index.tensors) {
    if (name == "words") continue;  // its checksum is not that of its bytes
    EXPECT_EQ(crc32c(std::string_view(data).substr(entry.offset, entry.size)), entry.crc32c)
        << name;
  }
}

TEST(TensorBundle, FindsTheSlicesOfATensorByTheirKeys) {
  const BundleIndex index = parse_bundle_index(golden("parts.ckpt.index"), "parts");
  EXPECT_EQ(index.shards, 2);
  const BundleEntry& table = index.tensors.at("table");
  EXPECT_EQ(table.dims, (compiler::Dims{4, 300}));
  ASSERT_EQ(table.slices.size(), 6u);
  EXPECT_EQ(index.parts.size(), 6u);
  for (const BundleSlice& slice : table.slices)
    EXPECT_EQ(index.parts.at(bundle_part_key("table", slice)).dims, (compiler::Dims{2, 100}));
}

TEST(TensorBundle, WritesTheSameBytesAsTensorFlow) {
  for (const char* name : {"types.ckpt.index", "parts.ckpt.index"}) {
    const std::string bytes = golden(name);
    EXPECT_EQ(bundle_index_bytes(parse_bundle_index(bytes, name)), bytes) << name;
  }
}

// The starts are at the limits of the encoding, in which n bytes hold 7 n - 1 bits.
TEST(TensorBundle, SliceKeysSortByPosition) {
  std::string last;
  for (const std::int64_t start : {0, 1, 63, 64, 8191, 8192, 1 << 20, 1 << 27}) {
    const std::string key = bundle_part_key("t", {{{start, 5}}});
    EXPECT_GT(key, last) << start;
    last = key;
  }
  EXPECT_GT(bundle_part_key("t", {{{std::int64_t{1} << 62, 5}}}), last);
  EXPECT_EQ(bundle_part_key(std::string("a\0\xFF", 3), {{{0, -1}}}),
            std::string("\0a\0\xFF\xFF\0\0\1\1\1\x80\x7F", 12));
}

TEST(TensorBundle, RejectsEveryChangedByte) {
  const std::string good = golden("parts.ckpt.index");
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x04);
    EXPECT_THAT(bundle_refusal(bad), HasSubstr("m.index")) << i;
  }
}

TEST(TensorBundle, RejectsContradictoryEntries) {
  EXPECT_EQ(bundle_refusal(index_of(f32({2, 3}, 24))), "no error");
  EXPECT_THAT(bundle_refusal(index_of(f32({2, 3}, 20))),
              HasSubstr("m.index: 't': has 20 bytes, but its shape is f32[2,3]"));
  EXPECT_THAT(bundle_refusal(index_of(f32({-1}, 4))), HasSubstr("impossible shape [-1]"));
  EXPECT_THAT(bundle_refusal(index_of(f32({1 << 30, 1 << 30, 1 << 30}, 4))),
              HasSubstr("impossible shape"));
  BundleEntry elsewhere = f32({1}, 4);
  elsewhere.shard = 1;
  EXPECT_THAT(bundle_refusal(index_of(elsewhere)), HasSubstr("is in data file 1 of 1"));
  EXPECT_THAT(bundle_refusal(sstable_bytes({{"t", ""}})), HasSubstr("has no header"));
  BundleIndex many = index_of(f32({1}, 4));
  many.shards = 0;
  EXPECT_THAT(bundle_refusal(many), HasSubstr("has 0 files of data"));
}

std::string header_with(std::uint32_t field, std::uint32_t inner, std::int64_t value) {
  WireWriter header, version;
  header.integer(1, 1);
  version.integer(inner, value);
  if (field == 2)
    header.integer(field, value);
  else
    header.message(field, version);
  return sstable_bytes({{"", header.take()}});
}

TEST(TensorBundle, RejectsBigEndianFilesAndNewerVersions) {
  EXPECT_THAT(bundle_refusal(header_with(2, 1, 1)), HasSubstr("written on a big-endian machine"));
  EXPECT_THAT(bundle_refusal(header_with(3, 2, 2)),
              HasSubstr("needs a reader of version 2, but smelt supports version 1"));
  EXPECT_EQ(bundle_refusal(header_with(3, 1, 9)), "no error");  // newer, but still readable
}

BundleIndex in_parts(const std::vector<BundleSlice>& slices, std::size_t stored) {
  BundleEntry whole = f32({4}, 0);
  whole.slices = slices;
  BundleIndex index = index_of(whole);
  for (std::size_t i = 0; i < stored; ++i)
    index.parts.emplace(bundle_part_key("t", slices[i]), f32({2}, 8));
  return index;
}

TEST(TensorBundle, RejectsSlicesThatDoNotCoverTheirTensor) {
  const BundleSlice first{{{0, 2}}}, second{{{2, 2}}}, shifted{{{1, 2}}}, beyond{{{3, 2}}};
  EXPECT_EQ(bundle_refusal(in_parts({first, second}, 2)), "no error");
  EXPECT_THAT(bundle_refusal(in_parts({first, second}, 1)), HasSubstr("its part 1 is missing"));
  EXPECT_THAT(bundle_refusal(in_parts({first}, 1)), HasSubstr("its parts do not cover the tensor"));
  EXPECT_THAT(bundle_refusal(in_parts({first, shifted}, 2)), HasSubstr("its parts overlap"));
  EXPECT_THAT(bundle_refusal(in_parts({first, beyond}, 2)), HasSubstr("beyond the tensor"));
  EXPECT_THAT(bundle_refusal(in_parts({{{{0, 3}}}, beyond}, 1)),
              HasSubstr("its part 0 is of another shape or type"));
}

TEST(CheckpointState, ReadsAndWritesTensorFlowsFile) {
  const CheckpointState state = parse_checkpoint_state(golden("checkpoint"), "checkpoint");
  EXPECT_EQ(state.newest, "types.ckpt");
  EXPECT_EQ(state.all, (std::vector<std::string>{"an \"old\" one", "types.ckpt"}));
  EXPECT_EQ(checkpoint_state_text(state), golden("checkpoint"));
}

TEST(CheckpointState, IgnoresOtherFieldsAndDecodesEscapes) {
  const CheckpointState state = parse_checkpoint_state(
      "# a comment\nlast_preserved_timestamp: 1.5\nmodel_checkpoint_path: \"a\\\\\\303\\251\\n\"\n",
      "checkpoint");
  EXPECT_EQ(state.newest, "a\\\xC3\xA9\n");
  EXPECT_THAT(error_of([] { parse_checkpoint_state("\nnothing", "checkpoint"); }),
              HasSubstr("checkpoint: line 2 is not `name: value`: nothing"));
  EXPECT_THAT(error_of([] { parse_checkpoint_state("model_checkpoint_path: x", "checkpoint"); }),
              HasSubstr("line 1"));
}

}  // namespace
}  // namespace smelt::io
